"""What objects count for in quotas, and which quotas they count in."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from manta_embedded.store.objects import Obj, at_path, metadata
from manta_embedded.store.pods import quality_of_service
from manta_embedded.store.schema.quantities import NANO, ZERO, Quantity, parsed, total

Usage = dict[str, Quantity]
Storage = tuple[str, str]
PODS, SERVICES, CLAIMS = ("", "pods"), ("", "services"), ("", "persistentvolumeclaims")
ONE: Final = Quantity(NANO)
COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
# Quotas of these make every container say how much it wants.
DEMANDED: Final = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
ALIASES: Final = frozenset(("configmaps", "resourcequotas", "replicationcontrollers", "secrets"))


def usage(storage: Storage, obj: Obj, now: datetime) -> Usage:
    """What one object counts for."""
    counted = {_count_of(storage): ONE}
    if storage == PODS:
        return counted | (_pod_usage(obj) if _is_living(obj, now) else {})
    if storage == SERVICES:
        return counted | _service_usage(obj)
    if storage == CLAIMS:
        return counted | _claim_usage(obj)
    return counted | ({storage[1]: ONE} if not storage[0] and storage[1] in ALIASES else {})


def concerns(storage: Storage, name: str) -> bool:
    """Whether objects of a resource can count for a limit of this name."""
    if name == _count_of(storage):
        return True
    if storage == PODS:
        return name != "requests.storage" and name.partition(".")[0] in ("pods", "requests", "limits", *COMPUTE)
    if storage == SERVICES:
        return name.partition(".")[0] == "services"
    if storage == CLAIMS:
        return name in ("persistentvolumeclaims", "requests.storage") or ".storageclass.storage.k8s.io/" in name
    return not storage[0] and name == storage[1] and name in ALIASES


def matches(quota: Obj, storage: Storage, obj: Obj) -> bool:
    """Whether an object is in the scopes of a quota; those with scopes are for pods only."""
    scopes = at_path(quota, "spec.scopes") or []
    wanted = at_path(quota, "spec.scopeSelector.matchExpressions") or []
    if not scopes and not wanted:
        return True
    if storage != PODS:
        return False
    return all(_in_scope({"scopeName": scope, "operator": "Exists"}, obj) for scope in scopes) and all(
        _in_scope(one, obj) for one in wanted
    )


def missing(pod: Obj, limited: Iterable[str]) -> str:
    """What a pod would have to say to be counted, for example `limits.cpu for: main`; empty when nothing is missing."""
    found: dict[str, set[str]] = {}
    for container in _containers(pod):
        resources = container.get("resources") or {}
        said = _compute(_amounts(resources.get("requests")), _amounts(resources.get("limits")))
        for name in DEMANDED.intersection(limited) - said.keys():
            found.setdefault(name, set()).add(container["name"])
    return "; ".join(f"{name} for: {','.join(sorted(found[name]))}" for name in sorted(found))


def added(one: Usage, other: Usage) -> Usage:
    """Two usages together."""
    return {
        name: one.get(name, ZERO) + other.get(name, ZERO)
        for name in (*one, *(name for name in other if name not in one))
    }


def increase(new: Usage, old: Usage) -> Usage:
    """How much more a changed object counts for."""
    grown = {name: amount - old.get(name, ZERO) for name, amount in new.items()}
    return {name: amount for name, amount in grown.items() if amount.nanos > 0}


def summed(usages: Iterable[Usage], names: Iterable[str]) -> Usage:
    """All usages together, of these names only."""
    known = list(usages)
    return {name: total([one[name] for one in known if name in one]) for name in names}


def _count_of(storage: Storage) -> str:
    return f"count/{'.'.join(part for part in reversed(storage) if part)}"


def _pod_usage(pod: Obj) -> Usage:
    return {"pods": ONE, **_compute(_pod_total(pod, "requests"), _pod_total(pod, "limits"))}


def _is_living(pod: Obj, now: datetime) -> bool:
    if at_path(pod, "status.phase") in ("Succeeded", "Failed"):
        return False
    meta = metadata(pod)
    if "deletionTimestamp" not in meta:
        return True
    grace = timedelta(seconds=meta.get("deletionGracePeriodSeconds", 0))
    return now <= datetime.fromisoformat(meta["deletionTimestamp"]) + grace


def _compute(requests: Usage, limits: Usage) -> Usage:
    found: Usage = {}
    for name, amount in requests.items():
        if name in COMPUTE or name.startswith("hugepages-"):
            found[name] = found[f"requests.{name}"] = amount
        else:
            found[f"requests.{name}"] = amount
    return found | {f"limits.{name}": amount for name, amount in limits.items() if name in COMPUTE}


def _pod_total(pod: Obj, part: str) -> Usage:
    """The containers together, or the largest that runs before them with the helpers started by then; and overhead."""
    spec = pod.get("spec") or {}
    running: Usage = {}
    largest: Usage = {}
    for container in spec.get("initContainers") or ():
        own = _amounts((container.get("resources") or {}).get(part))
        if container.get("restartPolicy") == "Always":
            running = own = added(running, own)
        else:
            own = added(running, own)
        largest = _larger(largest, own)
    for container in spec.get("containers") or ():
        running = added(running, _amounts((container.get("resources") or {}).get(part)))
    return added(_larger(running, largest), _amounts(spec.get("overhead")))


def _larger(one: Usage, other: Usage) -> Usage:
    return {
        name: max(one.get(name, ZERO), other.get(name, ZERO), key=lambda amount: amount.nanos)
        for name in {**one, **other}
    }


def _amounts(given: Mapping[str, Any] | None) -> Usage:
    return {name: parsed(amount) for name, amount in (given or {}).items()}


def _containers(pod: Obj) -> list[Obj]:
    spec = pod.get("spec") or {}
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _service_usage(service: Obj) -> Usage:
    spec = service.get("spec") or {}
    kind, ports = spec.get("type"), len(spec.get("ports") or ())
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = sum(bool(port.get("nodePort")) for port in spec.get("ports") or ())
    return {
        "services": ONE,
        "services.loadbalancers": ONE if kind == "LoadBalancer" else ZERO,
        "services.nodeports": Quantity(ports * NANO) if kind in ("LoadBalancer", "NodePort") else ZERO,
    }


def _claim_usage(claim: Obj) -> Usage:
    asked = at_path(claim, "spec.resources.requests.storage")
    found = {"persistentvolumeclaims": ONE, **({"requests.storage": parsed(asked)} if asked is not None else {})}
    storage_class = at_path(claim, "spec.storageClassName")
    if storage_class:
        found |= {f"{storage_class}.storageclass.storage.k8s.io/{name}": amount for name, amount in found.items()}
    return found


def _in_scope(requirement: Obj, pod: Obj) -> bool:
    spec = pod.get("spec") or {}
    match requirement["scopeName"]:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return quality_of_service(spec) == "BestEffort"
        case "NotBestEffort":
            return quality_of_service(spec) != "BestEffort"
        case "PriorityClass":
            return _in_class(requirement, spec.get("priorityClassName", ""))
    return False


def _in_class(requirement: Obj, name: str) -> bool:
    values = requirement.get("values") or ()
    match requirement["operator"]:
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
        case "In":
            return name in values
    return name not in values
