"""What a pod has when its writer did not say."""

from typing import Any

from manta_embedded.store.objects import Obj

SPEC = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {},
}
NEW_POD = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "resources": {}}
PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
MODED_VOLUMES = ("secret", "configMap", "downwardAPI", "projected")
FILE_MODE = 0o644
TOLERATIONS: list[Obj] = [
    {"key": f"node.kubernetes.io/{trouble}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for trouble in ("not-ready", "unreachable")
]


def pod(obj: Obj) -> Obj:
    """A pod with the defaults that every write brings."""
    return {**obj, "spec": {"enableServiceLinks": True, **with_spec_defaults(obj.get("spec") or {})}}


def new_pod(obj: Obj) -> Obj:
    """A new pod with what the server puts there once."""
    spec = {**NEW_POD, **obj["spec"], "tolerations": _tolerations(obj["spec"].get("tolerations") or [])}
    return {**obj, "spec": spec, "status": {"phase": "Pending", "qosClass": quality_of_service(spec)}}


def with_whole_status(obj: Obj) -> Obj:
    """A pod whose status says the same in both of its ways, and keeps the quality of service."""
    status = {"qosClass": quality_of_service(obj["spec"]), **(obj.get("status") or {})}
    address, addresses = status.get("podIP"), status.get("podIPs") or []
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        status["podIP"] = addresses[0].get("ip")
    return {**obj, "status": status}


def with_template_defaults(template: Obj) -> Obj:
    """A pod template with everything that the server adds."""
    return {**template, "spec": with_spec_defaults(template.get("spec") or {})}


def with_spec_defaults(spec: Obj) -> Obj:
    """A pod's spec with everything that the server adds."""
    found = {**SPEC, **spec}
    for part in ("containers", "initContainers"):
        if spec.get(part):
            found[part] = [_container(one) for one in spec[part]]
    if spec.get("volumes"):
        found["volumes"] = [_volume(one) for one in spec["volumes"]]
    if spec.get("serviceAccountName"):
        found["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount"):
        found["serviceAccountName"] = spec["serviceAccount"]
    return found


def quality_of_service(spec: Obj) -> str:
    """Guaranteed, Burstable or BestEffort, by the CPU and memory that the containers ask for."""
    resources = [one.get("resources") or {} for one in (*spec.get("containers", ()), *spec.get("initContainers", ()))]
    asked = [_relevant(one.get(part)) for one in resources for part in ("requests", "limits")]
    if not any(asked):
        return "BestEffort"
    for one in resources:
        limits = _relevant(one.get("limits"))
        if len(limits) < 2 or {**limits, **_relevant(one.get("requests"))} != limits:
            return "Burstable"
    return "Guaranteed"


def _relevant(amounts: Any) -> Obj:
    return {name: str(value) for name, value in (amounts or {}).items() if name in ("cpu", "memory")}


def _container(container: Obj) -> Obj:
    found = {**CONTAINER, **container}
    found.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    if container.get("ports"):
        found["ports"] = [{"protocol": "TCP", **port} for port in container["ports"]]
    if container.get("env"):
        found["env"] = [_variable(one) for one in container["env"]]
    limits = (container.get("resources") or {}).get("limits")
    if limits:
        given = container["resources"]
        found["resources"] = {**given, "requests": {**limits, **(given.get("requests") or {})}}
    for probe in PROBES:
        if container.get(probe):
            found[probe] = _probe(container[probe])
    return found


def _pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    _, colon, tag = name.partition("@")[0].partition(":")
    return "IfNotPresent" if (colon and tag != "latest") or "@" in name else "Always"


def _variable(variable: Obj) -> Obj:
    if variable.get("value") == "":
        return {name: value for name, value in variable.items() if name != "value"}
    source = (variable.get("valueFrom") or {}).get("fieldRef")
    if not source:
        return variable
    return {**variable, "valueFrom": {"fieldRef": {"apiVersion": "v1", **source}}}


def _probe(probe: Obj) -> Obj:
    found = {**PROBE, **probe}
    if probe.get("httpGet"):
        found["httpGet"] = {"path": "/", "scheme": "HTTP", **probe["httpGet"]}
    return found


def _volume(volume: Obj) -> Obj:
    if set(volume) == {"name"}:
        return {**volume, "emptyDir": {}}
    found = dict(volume)
    for part in MODED_VOLUMES:
        if isinstance(volume.get(part), dict):
            found[part] = {"defaultMode": FILE_MODE, **volume[part]}
    if isinstance(volume.get("hostPath"), dict):
        found["hostPath"] = {"type": "", **volume["hostPath"]}
    return found


def _tolerations(given: list[Obj]) -> list[Obj]:
    """A pod stays on a node in trouble for five minutes unless it says otherwise."""
    return [*given, *(one for one in TOLERATIONS if not any(_covers(own, one["key"]) for own in given))]


def _covers(toleration: Obj, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")
