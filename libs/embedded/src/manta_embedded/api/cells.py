"""The cells of built-in kinds that are more than one field of the object."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from manta_embedded.api.ages import UNKNOWN, age, moment_of, told
from manta_embedded.store.events import to_core
from manta_embedded.store.objects import EMPTY, Obj, at_path

SHOWN = 3
MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
ROLE_PREFIX, ROLE_LABEL = "node-role.kubernetes.io/", "kubernetes.io/role"
JOB_STATES = {"Complete": "Complete", "Failed": "Failed", "": "Terminating", "Suspended": "Suspended"}
JOB_TARGETS = ("FailureTarget", "SuccessCriteriaMet")


def external_address(service: Obj) -> str:
    """Where a service is reached from outside."""
    spec = service["spec"]
    given = list(spec.get("externalIPs") or ())
    match spec.get("type", "ClusterIP"):
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case "LoadBalancer":
            ways = at_path(service, "status.loadBalancer.ingress") or ()
            return ",".join([*(one.get("ip") or one.get("hostname", "") for one in ways), *given]) or "<pending>"
    return ",".join(given) or "<none>"


def service_ports(service: Obj) -> str:
    """The ports of a service."""
    return ",".join(_service_port(port) for port in service["spec"].get("ports") or ()) or "<none>"


def service_selector(service: Obj) -> str:
    """Which pods a service is for."""
    return _labels(service["spec"].get("selector"))


def config_size(obj: Obj) -> str:
    """How many entries a config map has."""
    return str(len(obj.get("data") or ()) + len(obj.get("binaryData") or ()))


def secret_size(obj: Obj) -> str:
    """How many entries a secret has."""
    return str(len(obj.get("data") or ()))


def node_status(node: Obj) -> str:
    """Whether a node is ready and takes pods."""
    ready = next((one for one in at_path(node, "status.conditions") or () if one.get("type") == "Ready"), None)
    word = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if at_path(node, "spec.unschedulable") else word


def node_roles(node: Obj) -> str:
    """The roles that a node's labels name."""
    labels = node["metadata"].get("labels") or EMPTY
    found = {name.removeprefix(ROLE_PREFIX) for name in labels if name.startswith(ROLE_PREFIX)} | {
        labels.get(ROLE_LABEL, "")
    }
    return ",".join(sorted(found - {""})) or "<none>"


def node_address(kind: str) -> Callable[[Obj], str]:
    """An address of a node."""

    def find(node: Obj) -> str:
        addresses = at_path(node, "status.addresses") or ()
        return next((one["address"] for one in addresses if one.get("type") == kind), "<none>")

    return find


def node_kernel(node: Obj) -> str:
    """The kernel that a node runs."""
    known = at_path(node, "status.nodeInfo") or EMPTY
    version = known.get("kernelVersion") or UNKNOWN
    return f"{version} ({known['architecture']})" if known.get("architecture") else version


def claim_phase(claim: Obj) -> str:
    """How far a claim is."""
    return "Terminating" if "deletionTimestamp" in claim["metadata"] else at_path(claim, "status.phase") or ""


def claim_capacity(claim: Obj) -> str:
    """What a bound claim has."""
    return (at_path(claim, "status.capacity.storage") or "") if at_path(claim, "spec.volumeName") else ""


def claim_modes(claim: Obj) -> str:
    """How a bound claim may be used."""
    given = at_path(claim, "status.accessModes") or () if at_path(claim, "spec.volumeName") else ()
    return ",".join(MODES.get(one, one) for one in given)


def quota(*, limits: bool) -> Callable[[Obj], str]:
    """What of a quota is used."""

    def find(obj: Obj) -> str:
        hard, used = at_path(obj, "status.hard") or EMPTY, at_path(obj, "status.used") or EMPTY
        names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return find


def role(binding: Obj) -> str:
    """The role that is bound."""
    return f"{at_path(binding, 'roleRef.kind')}/{at_path(binding, 'roleRef.name')}"


def subjects(kind: str) -> Callable[[Obj], str]:
    """Who of one kind has a role."""

    def name(one: Obj) -> str:
        return f"{one.get('namespace', '')}/{one['name']}" if kind == "ServiceAccount" else str(one["name"])

    return lambda binding: ", ".join(name(one) for one in binding.get("subjects") or () if one.get("kind") == kind)


def event_last(event: Obj, now: datetime) -> str:
    """When it happened last."""
    core = _core(event)
    if core.get("series"):
        return age(core["series"].get("lastObservedTime"), now)
    return age(core.get("lastTimestamp"), now) if core.get("lastTimestamp") else event_first(event, now)


def event_first(event: Obj, now: datetime) -> str:
    """When it happened first."""
    core = _core(event)
    return age(core.get("firstTimestamp") or core.get("eventTime"), now)


def event_object(event: Obj) -> str:
    """What it happened to."""
    about = _core(event).get("involvedObject") or EMPTY
    kind = str(about.get("kind", "")).lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def event_part(event: Obj) -> str:
    """The part of the object that it happened to."""
    return at_path(_core(event), "involvedObject.fieldPath") or ""


def event_source(event: Obj) -> str:
    """Who tells of it."""
    core = _core(event)
    source = core.get("source") or EMPTY
    component = source.get("component") or core.get("reportingComponent", "")
    instance = source.get("host") or core.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


def event_message(event: Obj) -> str:
    """What is told."""
    return str(_core(event).get("message", "")).strip()


def event_count(event: Obj) -> int:
    """How often it happened."""
    core = _core(event)
    return at_path(core, "series.count") or core.get("count") or 1


def job_status(job: Obj) -> str:
    """How far a job is."""
    true = {one["type"] for one in at_path(job, "status.conditions") or () if one.get("status") == "True"}
    true |= {""} if "deletionTimestamp" in job["metadata"] else set()
    found = next((word for name, word in JOB_STATES.items() if name in true), None)
    return found or next((name for name in JOB_TARGETS if name in true), "Running")


def job_completions(job: Obj) -> str:
    """How many of its pods have completed."""
    done = at_path(job, "status.succeeded") or 0
    wanted = at_path(job, "spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = at_path(job, "spec.parallelism") or 0
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def job_duration(job: Obj, now: datetime) -> str:
    """How long a job has run, or ran."""
    start = moment_of(at_path(job, "status.startTime") or "")
    if start is None:
        return ""
    return told(((moment_of(at_path(job, "status.completionTime") or "") or now) - start).total_seconds())


def job_containers(field: str) -> Callable[[Obj], str]:
    """Names or images of a job's containers."""
    return lambda job: ",".join(one.get(field, "") for one in at_path(job, "spec.template.spec.containers") or ())


def job_selector(job: Obj) -> str:
    """Which pods a job has."""
    return selector_text(at_path(job, "spec.selector"))


def ingress_hosts(ingress: Obj) -> str:
    """The hosts of an ingress."""
    hosts = [one["host"] for one in at_path(ingress, "spec.rules") or () if one.get("host")]
    return _some(hosts, "*")


def ingress_address(ingress: Obj) -> str:
    """Where an ingress is reached."""
    ways = at_path(ingress, "status.loadBalancer.ingress") or ()
    return ",".join(one.get("ip") or one.get("hostname", "") for one in ways)


def policy_selector(policy: Obj) -> str:
    """Which pods a network policy is for."""
    return selector_text(at_path(policy, "spec.podSelector"))


def slice_ports(obj: Obj) -> str:
    """The ports of an endpoint slice."""
    return _some([str(one.get("port") or one.get("name") or "*") for one in obj.get("ports") or ()], "<unset>")


def slice_endpoints(obj: Obj) -> str:
    """The addresses of an endpoint slice."""
    return _some([one for end in obj.get("endpoints") or () for one in end.get("addresses") or ()], "<unset>")


def selector_text(selector: Any) -> str:
    """A label selector as one line."""
    if not selector:
        return "<none>"
    parts = [f"{name}={value}" for name, value in sorted((selector.get("matchLabels") or EMPTY).items())]
    for one in selector.get("matchExpressions") or ():
        key, values = one["key"], ",".join(sorted(one.get("values") or ()))
        words = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        parts.append(words.get(one["operator"], f"!{key}"))
    return ",".join(parts) or "<none>"


def _labels(labels: Any) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted((labels or EMPTY).items())) or "<none>"


def _some(items: list[str], none: str) -> str:
    if len(items) > SHOWN:
        return f"{','.join(items[:SHOWN])} + {len(items) - SHOWN} more..."
    return ",".join(items) or none


def _core(event: Obj) -> Obj:
    return event if "involvedObject" in event else to_core(event)


def _service_port(port: Obj) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node}/{port.get('protocol', 'TCP')}"
