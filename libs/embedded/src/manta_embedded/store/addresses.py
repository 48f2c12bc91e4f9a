"""The addresses and ports of services: each is given once."""

import ipaddress
import random

from manta_common.kinds import SERVICE
from manta_embedded.store.changes import Event
from manta_embedded.store.errors import Cause
from manta_embedded.store.objects import Obj, at_path
from manta_embedded.store.schema import faults

NETWORK = "10.96.0.0/14"
NODE_PORTS = range(30000, 32768)
STORAGE = (SERVICE.group, SERVICE.plural)
FAMILIES = ("ipFamilies", "ipFamilyPolicy")
ALLOCATED = ("clusterIP", "clusterIPs", *FAMILIES)
EXPOSED = ("NodePort", "LoadBalancer")


class Addresses:
    """Knows which addresses and node ports are in use by the services that are stored."""

    def __init__(self, rng: random.Random, network: str = NETWORK) -> None:
        self._rng = rng
        self._network = ipaddress.ip_network(network)
        self._first, self._count = int(self._network.network_address) + 1, self._network.num_addresses - 2
        self._used: set[str] = set()
        self._ports: set[int] = set()

    def note(self, event: Event) -> None:
        """Take notice of a commit."""
        if event.storage != STORAGE:
            return
        if event.old is not None:
            self._used.discard(at_path(event.old, "spec.clusterIP"))
            self._ports.difference_update(_node_ports(event.old))
        if event.type != "DELETED":
            self._used.add(at_path(event.new, "spec.clusterIP"))
            self._ports.update(_node_ports(event.new))

    def complete(self, service: Obj) -> Obj:
        """A service with an address of its own and the ports that it needs on nodes, where its type has such."""
        spec = dict(service["spec"])
        if spec["type"] != "ExternalName":
            spec["clusterIP"] = spec.get("clusterIP") or self._free_address()
            spec["clusterIPs"] = [spec["clusterIP"]]
        if spec["type"] in EXPOSED and spec.get("ports"):
            spec["ports"] = [port if port.get("nodePort") else self._with_port(port) for port in spec["ports"]]
        return {**service, "spec": spec}

    def carried(self, old: Obj, service: Obj) -> Obj:
        """A changed service: what was given once stays, where the change does not say otherwise."""
        was = old["spec"]
        spec = _reminded(was, _withdrawn(was, service["spec"]))
        service = {**service, "spec": spec}
        if spec["type"] == "ExternalName" or not was.get("clusterIP"):
            return service
        if spec.get("clusterIP"):
            return {**service, "spec": {**{name: was[name] for name in FAMILIES if name in was}, **spec}}
        kept = {name: was[name] for name in ALLOCATED if name in was}
        return {**service, "spec": {**kept, **spec, "clusterIP": was["clusterIP"]}}

    def refusal(self, service: Obj) -> Cause | None:
        """What is wrong with the address that a new service asks for."""
        wanted = at_path(service, "spec.clusterIP")
        if wanted in (None, "", "None"):
            return None
        if not self._is_ours(wanted):
            why = "the provided network does not match the current range"
        elif wanted in self._used:
            why = "provided IP is already allocated"
        else:
            return None
        why = f"failed to allocate IP {wanted}: {why}"
        return faults.invalid("spec.clusterIPs", [wanted], why)

    def _is_ours(self, address: str) -> bool:
        try:
            return ipaddress.ip_address(address) in self._network
        except ValueError:
            return False

    def _free_address(self) -> str:
        while True:
            address = str(ipaddress.ip_address(self._first + self._rng.randrange(self._count)))
            if address not in self._used:
                return address

    def _with_port(self, port: Obj) -> Obj:
        free = [number for number in NODE_PORTS if number not in self._ports]
        number = self._rng.choice(free)
        self._ports.add(number)
        return {**port, "nodePort": number}


def _withdrawn(was: Obj, spec: Obj) -> Obj:
    """A service that is no longer for the world has no ports on nodes any more, but for those it newly asks for."""
    if spec["type"] in EXPOSED or was["type"] not in EXPOSED:
        return spec
    given = {port.get("nodePort") for port in was.get("ports") or ()}
    ports = [
        {name: value for name, value in port.items() if name != "nodePort" or value not in given}
        for port in spec.get("ports") or ()
    ]
    left = {name: value for name, value in spec.items() if name not in ("externalTrafficPolicy", "ports")}
    return {**left, "ports": ports} if ports else left


def _reminded(was: Obj, spec: Obj) -> Obj:
    """Ports that are named as before keep their ports on nodes, unless another one has asked for them."""
    if was["type"] not in EXPOSED or spec["type"] not in EXPOSED or not spec.get("ports"):
        return spec
    asked = {port.get("nodePort") for port in spec["ports"]}
    known = {port.get("name", ""): port["nodePort"] for port in was.get("ports") or () if port.get("nodePort")}
    left = {name: number for name, number in known.items() if number not in asked}
    return {**spec, "ports": [_with_number(port, left.get(port.get("name", ""))) for port in spec["ports"]]}


def _with_number(port: Obj, number: int | None) -> Obj:
    return port if port.get("nodePort") or number is None else {**port, "nodePort": number}


def _node_ports(service: Obj) -> set[int]:
    return {port["nodePort"] for port in at_path(service, "spec.ports") or () if port.get("nodePort")}
