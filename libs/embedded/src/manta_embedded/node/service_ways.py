"""On which addresses a Service is reached, and which pods stand behind each of them. Pure."""

from collections.abc import Iterable, Iterator

import msgspec

from manta_common.keys import Key
from manta_embedded.node.hosts import pods_behind
from manta_embedded.store.objects import Obj, at_path

EXPOSED = ("NodePort", "LoadBalancer")
Target = tuple[str, int]  # address and port of a pod


class Way(msgspec.Struct, frozen=True):
    """A port at which a Service is listened for: of its own address, or of this machine when the address is empty."""

    service: Key
    port: int  # as the Service calls it
    address: str
    listen: int

    def __str__(self) -> str:
        """The address as a person would write it."""
        return f"{self.address or 'this machine'}:{self.listen}"


def ways(key: Key, service: Obj, *, inside: bool) -> Iterator[Way]:
    """How a Service is reached; `inside` when pods have a network in which it can have an address of its own."""
    spec = service["spec"]
    if not spec.get("selector") or spec.get("clusterIP") in (None, "", "None"):
        return
    for port in spec.get("ports") or ():
        if port.get("protocol", "TCP") != "TCP":
            continue
        if inside:
            yield Way(key, port["port"], spec["clusterIP"], port["port"])
        if spec.get("type") in EXPOSED and port.get("nodePort"):
            yield Way(key, port["port"], "", port["nodePort"])


def targets(service: Obj, port: int, pods: Iterable[Obj]) -> list[Target]:
    """Address and port of every pod that takes what comes to a port of the Service."""
    wanted = next((one for one in service["spec"].get("ports") or () if one["port"] == port), None)
    if wanted is None:
        return []
    target = wanted.get("targetPort") or port
    found = ((at_path(pod, "status.podIP"), _number(pod, target)) for pod in pods_behind(service, pods))
    return [(address, number) for address, number in found if number]


def _number(pod: Obj, target: int | str) -> int:
    """A port of a pod by its number or its name; 0 when it has none of that name."""
    if isinstance(target, int):
        return target
    named = (
        one["containerPort"]
        for container in pod["spec"]["containers"]
        for one in container.get("ports") or ()
        if one.get("name") == target
    )
    return next(named, 0)
