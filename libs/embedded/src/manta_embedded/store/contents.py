"""The rules for pods, services and jobs that an operator is most likely to break."""

from collections.abc import Iterator
from typing import Any

from manta_embedded.store.errors import Cause
from manta_embedded.store.objects import EMPTY, Obj, at_path
from manta_embedded.store.schema import faults

IMMUTABLE = "field is immutable"
POD_CHANGEABLE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")
POD_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
RESTARTS = ("Always", "OnFailure", "Never")
SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
PORT_RANGE = "must be between 1 and 65535, inclusive"
ROLE_NAMES = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
JOB_FIXED = ("spec.completions", "spec.selector", "spec.completionMode", "spec.template.spec")


def pod_causes(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    """What is wrong with a pod."""
    spec = obj.get("spec") or EMPTY
    if old is None:
        yield from _spec_causes(spec, "spec")
    elif old["spec"] != spec and _fixed(old["spec"]) != _fixed(spec):
        yield faults.forbidden("spec", POD_TEXT)


def service_causes(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    """What is wrong with a service."""
    spec = obj.get("spec") or EMPTY
    before, after = at_path(old or EMPTY, "spec.clusterIP"), spec.get("clusterIP")
    if before and after and before != after:
        yield faults.invalid("spec.clusterIPs[0]", [after], "may not change once set")
    kind = spec.get("type", "ClusterIP")
    if kind not in SERVICE_TYPES:
        yield faults.unsupported("spec.type", kind, SERVICE_TYPES)
    ports = spec.get("ports") or []
    if not ports and kind != "ExternalName" and after != "None":
        yield faults.required("spec.ports")
    for number, port in enumerate(ports):
        yield from _port_causes(port, f"spec.ports[{number}]", named=len(ports) > 1)


def job_causes(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    """What is wrong with a job."""
    for path in JOB_FIXED if old else ():
        if at_path(old or EMPTY, path) != at_path(obj, path):
            yield faults.invalid(path, at_path(obj, path), IMMUTABLE)
    if old:
        return
    for field in ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"):
        value = at_path(obj, f"spec.{field}")
        if value is not None and value < 0:
            yield faults.invalid(f"spec.{field}", value, "must be greater than or equal to 0")
    spec = at_path(obj, "spec.template.spec") or EMPTY
    yield from _spec_causes(spec, "spec.template.spec")
    if spec.get("restartPolicy", "Always") == "Always":
        yield faults.required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')


def binding_causes(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    """What is wrong with a role binding."""
    before, after = (old or obj).get("roleRef"), obj.get("roleRef") or EMPTY
    if before != after:
        shown = {name: after.get(field, "") for name, field in ROLE_NAMES.items()}
        yield faults.invalid("roleRef", shown, "cannot change roleRef")


def _spec_causes(spec: Obj, path: str) -> Iterator[Cause]:
    """What is wrong with the spec of a pod, wherever it stands."""
    if not spec.get("containers"):
        yield faults.required(f"{path}.containers")
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    seen: set[str] = set()
    for part in ("containers", "initContainers"):
        for number, container in enumerate(spec.get(part) or ()):
            yield from _container_causes(container, f"{path}.{part}[{number}]", volumes, seen)
            seen.add(container.get("name", ""))
    policy = spec.get("restartPolicy", "Always")
    if policy not in RESTARTS:
        yield faults.unsupported(f"{path}.restartPolicy", policy, RESTARTS)


def _container_causes(container: Obj, path: str, volumes: set[Any], seen: set[str]) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield faults.required(f"{path}.name")
    elif name in seen:
        yield faults.duplicate(f"{path}.name", name)
    if not container.get("image"):
        yield faults.required(f"{path}.image")
    for number, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") not in volumes:
            field = f"{path}.volumeMounts[{number}].name"
            yield Cause("FieldValueNotFound", f'Not found: "{mount.get("name", "")}"', field)


def _port_causes(port: Obj, path: str, *, named: bool) -> Iterator[Cause]:
    if named and not port.get("name"):
        yield faults.required(f"{path}.name")
    for field in ("port", "targetPort"):
        value = port.get(field) or port.get("port", 0)  # a target of 0 is none, as Go clients send it
        if isinstance(value, int) and not 1 <= value <= 65535:
            yield faults.invalid(f"{path}.{field}", value, PORT_RANGE)


def _fixed(spec: Obj) -> Obj:
    """What of a pod's spec stays."""
    kept = {name: value for name, value in spec.items() if name not in POD_CHANGEABLE}
    for part in ("containers", "initContainers"):
        if part in spec:
            kept[part] = [{**container, "image": ""} for container in spec[part]]
    return kept
