"""NetworkPolicies that shut a cluster off: its own pods may talk to each other, and what the user adds."""

from collections.abc import Mapping
from typing import Any, Final

from manta_common.api import containers, labels, names
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayoptions import NetworkPolicyConfig, NetworkPolicyGroup, NetworkPolicyRules
from manta_common.ray.cluster import Manifest, app_labels, child
from manta_common.ray.draft import decoded

_TYPES: Final = {"DenyAllIngress": ("Ingress",), "DenyAllEgress": ("Egress",)}
_BOTH: Final = ("Ingress", "Egress")
_JOB_MODE: Final = "K8sJobMode"

Rules = NetworkPolicyRules | NetworkPolicyGroup


def network_policies(cluster: RayCluster) -> list[Manifest]:
    """The policies of a cluster: one for the head and one for each group; none where the spec asks for none."""
    config = cluster.spec.network_policy
    if config is None:
        return []
    groups = [group.group_name for group in cluster.spec.worker_group_specs]
    return [_head_policy(cluster, config), *(_worker_policy(cluster, config, group) for group in groups)]


def policy_differs(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether a policy that is there must be changed; its annotations are not ours."""
    labelled = found["metadata"].get("labels") or {}
    return bool(wanted["metadata"]["labels"] != labelled or _explicit(wanted["spec"]) != _explicit(found["spec"]))


def _head_policy(cluster: RayCluster, config: NetworkPolicyConfig) -> Manifest:
    selector = {labels.CLUSTER: cluster.metadata.name, labels.NODE_TYPE: labels.HEAD}
    labelled = app_labels(cluster) | {labels.GROUP: labels.HEAD_GROUP}
    made = child(
        cluster,
        "networking.k8s.io/v1",
        "NetworkPolicy",
        name=names.head_network_policy(cluster.metadata.name),
        labelled=labelled,
    )
    rules = config.head or NetworkPolicyRules()
    return made | {"spec": _spec(cluster, config, selector, ingress=_submitter_rules(cluster), rules=rules)}


def _worker_policy(cluster: RayCluster, config: NetworkPolicyConfig, group: str) -> Manifest:
    selector = {labels.CLUSTER: cluster.metadata.name, labels.NODE_TYPE: labels.WORKER, labels.GROUP: group}
    made = child(
        cluster,
        "networking.k8s.io/v1",
        "NetworkPolicy",
        name=names.worker_network_policy(cluster.metadata.name, group),
        labelled=app_labels(cluster) | {labels.GROUP: group},
    )
    own = next((rules for rules in config.worker_groups if rules.group_name == group), None)
    rules = own or config.worker or NetworkPolicyRules()
    return made | {"spec": _spec(cluster, config, selector, ingress=[], rules=rules)}


def _spec(
    cluster: RayCluster,
    config: NetworkPolicyConfig,
    selector: dict[str, str],
    *,
    ingress: list[Manifest],
    rules: Rules,
) -> Manifest:
    types = _TYPES.get(config.mode or "", _BOTH)
    peers = [{"podSelector": {"matchLabels": {labels.CLUSTER: cluster.metadata.name}}}]
    spec: Manifest = {"podSelector": {"matchLabels": selector}, "policyTypes": list(types)}
    if "Ingress" in types:
        spec["ingress"] = [{"from": peers}, *ingress, *decoded(rules.ingress_rules)]
    if "Egress" in types:
        spec["egress"] = [{"to": peers}, *decoded(rules.egress_rules)]
    return spec


def _submitter_rules(cluster: RayCluster) -> list[Manifest]:
    """A job's submitting pod may reach the dashboard."""
    job = next((owner for owner in cluster.metadata.owner_references if owner.controller), None)
    by_job = cluster.metadata.labels.get(labels.JOB_SUBMISSION_MODE) == _JOB_MODE
    if not by_job or job is None or job.kind != "RayJob":
        return []
    pods = {labels.ORIGINATED_FROM_NAME: job.name, labels.ORIGINATED_FROM_KIND: "RayJob"}
    params = cluster.spec.head_group_spec.ray_start_params
    text = params.get("dashboard-port", "")
    port = int(text) if text.isdecimal() else containers.DASHBOARD_PORT
    return [{"from": [{"podSelector": {"matchLabels": pods}}], "ports": [{"protocol": "TCP", "port": port}]}]


def _explicit(spec: Mapping[str, Any]) -> Manifest:
    """A policy's spec with the protocol that the API server fills in, and without lists that are empty."""
    filled = {name: value for name, value in spec.items() if value}
    for direction in ("ingress", "egress"):
        if direction in filled:
            filled[direction] = [_with_protocols(rule) for rule in filled[direction]]
    return filled


def _with_protocols(rule: Mapping[str, Any]) -> Manifest:
    ports = [{"protocol": "TCP", **port} for port in rule.get("ports") or ()]
    rest = {name: value for name, value in rule.items() if name != "ports" and value}
    return {**rest, **({"ports": ports} if ports else {})}
