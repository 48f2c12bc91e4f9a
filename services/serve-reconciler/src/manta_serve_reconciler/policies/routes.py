"""Gateway and HTTPRoute: what they are to look like, whether they do, and whether somebody has taken them up."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from manta_common.api import containers, names
from manta_common.api.rayservice import RayService
from manta_common.keys import Key
from manta_common.kinds import GATEWAY, HTTPROUTE
from manta_common.ray.cluster import controller_reference, head_container
from manta_serve_reconciler.observed import Side

Object = Mapping[str, Any]
_MATCHES: Final = [{"path": {"type": "PathPrefix", "value": "/"}}]


def gateway(service: RayService) -> dict[str, Any]:
    """The Gateway that traffic comes in by."""
    strategy = service.spec.upgrade_strategy
    options = strategy.cluster_upgrade_options if strategy else None
    listener = {"name": "http", "protocol": "HTTP", "port": 80}
    spec = {"gatewayClassName": options.gateway_class_name if options else "", "listeners": [listener]}
    return _made(service, GATEWAY.api_version, GATEWAY.kind, names.gateway(service.metadata.name), spec)


def http_route(service: RayService, shares: Iterable[tuple[Side, int]]) -> dict[str, Any]:
    """The route that divides the traffic among clusters."""
    place = service.metadata.namespace
    backends = [
        {
            "name": names.serve_service(side.name),
            "namespace": place,
            "port": _port(side),
            "weight": weight,
        }
        for side, weight in shares
    ]
    spec = {
        "parentRefs": [{"name": names.gateway(service.metadata.name), "namespace": place}],
        "rules": [{"matches": _MATCHES, "backendRefs": backends}],
    }
    return _made(service, HTTPROUTE.api_version, HTTPROUTE.kind, names.http_route(service.metadata.name), spec)


def is_same_gateway(found: Object, wanted: Object) -> bool:
    """Whether a Gateway is as it should be, whatever the server has added."""
    return _gateway_parts(found) == _gateway_parts(wanted)


def is_same_route(found: Object, wanted: Object) -> bool:
    """Whether an HTTPRoute is as it should be, whatever the server has added."""
    return _route_parts(found) == _route_parts(wanted)


def is_gateway_ready(found: Object | None) -> bool:
    """Whether a controller has taken the Gateway up."""
    return found is not None and _hold(_status(found).get("conditions"), "Accepted", "Programmed")


def is_route_ready(found: Object | None, of: Key) -> bool:
    """Whether the controller of this Gateway has taken the route up."""
    parents = (_status(found).get("parents") or ()) if found else ()
    return any(
        _is_parent(each.get("parentRef") or {}, of) and _hold(each.get("conditions"), "Accepted", "ResolvedRefs")
        for each in parents
    )


def _is_parent(reference: Object, gateway: Key) -> bool:
    """Whether a reference means a Gateway; without a namespace it means the one of its own."""
    return reference.get("name") == gateway.name and reference.get("namespace", gateway.namespace) == gateway.namespace


def _made(service: RayService, version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    about = {
        "name": name,
        "namespace": service.metadata.namespace,
        "ownerReferences": [controller_reference("RayService", service.metadata)],
    }
    return {"apiVersion": version, "kind": kind, "metadata": about, "spec": spec}


def _port(side: Side) -> int:
    ports = head_container(side.cluster).ports if side.cluster else ()
    found = (port.container_port for port in ports if port.name == containers.SERVE_PORT_NAME)
    return next(found, containers.SERVE_PORT)


def _gateway_parts(found: Object) -> tuple[Any, ...]:
    spec = found.get("spec") or {}
    listeners = [(each.get("name"), each.get("protocol"), each.get("port")) for each in spec.get("listeners") or ()]
    return spec.get("gatewayClassName"), listeners


def _route_parts(found: Object) -> tuple[Any, ...]:
    spec = found.get("spec") or {}
    parents = [(each.get("name"), each.get("namespace")) for each in spec.get("parentRefs") or ()]
    return spec.get("hostnames") or [], parents, [_rule_parts(rule) for rule in spec.get("rules") or ()]


def _rule_parts(rule: Object) -> tuple[Any, ...]:
    backends = [
        (each.get("name"), each.get("namespace"), each.get("weight", 1), each.get("port", 0))
        for each in rule.get("backendRefs") or ()
    ]
    return rule.get("matches") or [], rule.get("filters") or [], backends


def _status(found: Object) -> Object:
    status: Object = found.get("status") or {}
    return status


def _hold(conditions: Any, *types: str) -> bool:
    true = {each.get("type") for each in conditions or () if each.get("status") == "True"}
    return set(types) <= true
