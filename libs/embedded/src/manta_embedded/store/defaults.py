"""What built-in kinds have when their writer did not say."""

import base64
from collections.abc import Callable

from manta_embedded.store import definitions, events, pods
from manta_embedded.store.objects import Obj

Complete = Callable[[Obj], Obj]
RBAC = "rbac.authorization.k8s.io"
JOB = {
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "suspend": False,
    "podReplacementPolicy": "TerminatingOrFailed",
    "manualSelector": False,
}
SERVICE = {
    "type": "ClusterIP",
    "sessionAffinity": "None",
    "internalTrafficPolicy": "Cluster",
}


def defaulted(storage: tuple[str, str], obj: Obj) -> Obj:
    """An object with the defaults of its kind, which every write brings; its writer holds them."""
    complete = DEFAULTED.get(storage)
    if complete is None:
        return obj
    found = complete(obj)
    return obj if found == obj else found  # so that what did not change is still the same object


def started(storage: tuple[str, str], obj: Obj) -> Obj:
    """A new object with what the server puts there once."""
    complete = STARTED.get(storage)
    return complete(obj) if complete else obj


def _namespace(obj: Obj) -> Obj:
    meta = obj["metadata"]
    labels = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": meta["name"]}
    return {**obj, "metadata": {**meta, "labels": labels}, "spec": obj.get("spec") or {}}


def _new_namespace(obj: Obj) -> Obj:
    return {**obj, "spec": {"finalizers": ["kubernetes"], **obj["spec"]}, "status": {"phase": "Active"}}


def _secret(obj: Obj) -> Obj:
    found = {"type": "Opaque", **obj}
    text = found.pop("stringData", None)
    if text:
        encoded = {name: base64.b64encode(value.encode()).decode() for name, value in text.items()}
        found["data"] = {**(found.get("data") or {}), **encoded}
    return found


def _service(obj: Obj) -> Obj:
    spec = {**SERVICE, **(obj.get("spec") or {})}
    if spec["type"] == "ExternalName":
        spec.pop("internalTrafficPolicy")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec.get("ports"):
        spec["ports"] = [
            {"protocol": "TCP", **port, "targetPort": port.get("targetPort") or port.get("port")}
            for port in spec["ports"]
        ]
    return {**obj, "spec": spec}


def _new_service(obj: Obj) -> Obj:
    spec = obj["spec"]
    if spec["type"] == "ExternalName":
        families: Obj = {}
    elif spec.get("clusterIP") == "None" and not spec.get("selector"):
        families = {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"}
    else:
        families = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
    return {**obj, "spec": {**families, **spec}, "status": {"loadBalancer": {}}}


def _job(obj: Obj) -> Obj:
    given = obj.get("spec") or {}
    spec = {**JOB, **given}
    if "completions" not in given and "parallelism" not in given:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    return {**obj, "spec": {**spec, "template": pods.with_template_defaults(given.get("template") or {})}}


def _new_job(obj: Obj) -> Obj:
    spec = obj["spec"]
    if spec.get("manualSelector"):
        return {**obj, "status": {}}
    uid, name = obj["metadata"]["uid"], obj["metadata"]["name"]
    own = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name}
    meta = spec["template"].get("metadata") or {}
    labels = {**(meta.get("labels") or {}), **own, "controller-uid": uid, "job-name": name}
    template = {**spec["template"], "metadata": {**meta, "labels": labels}}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    found = {**obj, "spec": {**spec, "template": template, "selector": selector}, "status": {}}
    return found if obj["metadata"].get("labels") else {**found, "metadata": {**obj["metadata"], "labels": labels}}


def _claim(obj: Obj) -> Obj:
    return {**obj, "spec": {"volumeMode": "Filesystem", **(obj.get("spec") or {})}}


def _new_claim(obj: Obj) -> Obj:
    meta, kept = obj["metadata"], "kubernetes.io/pvc-protection"
    finalizers = list(dict.fromkeys([*meta.get("finalizers", ()), kept]))
    return {**obj, "metadata": {**meta, "finalizers": finalizers}, "status": {"phase": "Pending"}}


def _network_policy(obj: Obj) -> Obj:
    spec = obj.get("spec") or {}
    types = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    found = {"policyTypes": types, **spec}
    for part in ("ingress", "egress"):
        if spec.get(part):
            found[part] = [_policy_rule(rule) for rule in spec[part]]
    return {**obj, "spec": found}


def _policy_rule(rule: Obj) -> Obj:
    if not rule.get("ports"):
        return rule
    return {**rule, "ports": [{"protocol": "TCP", **port} for port in rule["ports"]]}


def _binding(obj: Obj) -> Obj:
    found = dict(obj)
    if obj.get("roleRef"):
        found["roleRef"] = {"apiGroup": RBAC, **obj["roleRef"]}
    if obj.get("subjects"):
        found["subjects"] = [_subject(one) for one in obj["subjects"]]
    return found


def _subject(subject: Obj) -> Obj:
    return {"apiGroup": RBAC, **subject} if subject.get("kind") in ("User", "Group") else subject


def _with_status(status: Obj) -> Complete:
    return lambda obj: {**obj, "status": status}


DEFAULTED: dict[tuple[str, str], Complete] = {
    ("", "namespaces"): _namespace,
    ("", "secrets"): _secret,
    ("", "services"): _service,
    ("", "pods"): pods.pod,
    ("", "persistentvolumeclaims"): _claim,
    ("batch", "jobs"): _job,
    ("networking.k8s.io", "networkpolicies"): _network_policy,
    definitions.STORAGE: definitions.with_defaults,
    ("events.k8s.io", "events"): events.with_defaults,
    (RBAC, "rolebindings"): _binding,
    (RBAC, "clusterrolebindings"): _binding,
}
STARTED: dict[tuple[str, str], Complete] = {
    ("", "namespaces"): _new_namespace,
    ("", "services"): _new_service,
    ("", "pods"): pods.new_pod,
    ("", "persistentvolumeclaims"): _new_claim,
    ("", "resourcequotas"): _with_status({}),
    ("batch", "jobs"): _new_job,
    ("networking.k8s.io", "ingresses"): _with_status({"loadBalancer": {}}),
}
