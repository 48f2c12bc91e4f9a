"""The hash by which a head tells whether the spec has changed since it was made (upgradeStrategy Recreate)."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from manta_common.api import annotations
from manta_common.api.documents import without_nulls
from manta_common.api.raycluster import RayCluster, RayClusterSpec
from manta_common.api.wire import to_builtins
from manta_common.ray.quantities import canonical

# KubeRay's hash covers the order of fields of Go's types, which cannot be had here for certain; a wrong hash under
# KubeRay's own version would recreate every such cluster on take-over. Under another version both operators adopt the
# pods of the other: they write their own two annotations and recreate nothing. To be raised when this hash changes.
VERSION: Final = f"{annotations.KUBERAY_VERSION_VALUE}+manta.1"

Verdict = Literal["keep", "rewrite", "recreate"]

_POD_FIELDS: Final = ("tolerations", "schedulingGates")
_GROUP_FIELDS: Final = ("replicas", "minReplicas", "maxReplicas", "scaleStrategy")


def recreate_hash(spec: RayClusterSpec) -> str:
    """32 characters that change with the spec, except for what never needs new pods."""
    document = without_nulls(to_builtins(spec))
    head = document["headGroupSpec"]
    groups = document.get("workerGroupSpecs", [])
    document.pop("upgradeStrategy", None)
    for group in groups:
        _drop(group, _GROUP_FIELDS)
    for group in (head, *groups):
        pod = group["template"].get("spec", {})
        _drop(pod, _POD_FIELDS)
        _canonise(pod)
    digest = hashlib.sha1(msgspec.json.encode(document, order="sorted"), usedforsecurity=False).digest()
    return base64.b32hexencode(digest).decode()


def recreate_annotations(cluster: RayCluster) -> dict[str, str]:
    """What a head bears of the spec that it was made from."""
    return {
        annotations.RECREATE_HASH: recreate_hash(cluster.spec),
        annotations.KUBERAY_VERSION: VERSION,
    }


def head_verdict(cluster: RayCluster, found: Mapping[str, str]) -> Verdict:
    """What the annotations of a head mean for its cluster: leave it, mark it as ours, or make all pods anew."""
    strategy = cluster.spec.upgrade_strategy
    if strategy is None or strategy.type != "Recreate":
        return "keep"
    if found.get(annotations.KUBERAY_VERSION, "") not in {"", VERSION}:
        return "rewrite"
    known = found.get(annotations.RECREATE_HASH, "")
    return "recreate" if known and known != recreate_hash(cluster.spec) else "keep"


def _drop(document: dict[str, Any], fields: tuple[str, ...]) -> None:
    for field in fields:
        document.pop(field, None)


def _canonise(pod: dict[str, Any]) -> None:
    """Write amounts in one way, so that 1000m and 1 are no difference."""
    for container in (*pod.get("containers", ()), *pod.get("initContainers", ())):
        for amounts in container.get("resources", {}).values():
            if isinstance(amounts, dict):
                amounts |= {name: canonical(amount) for name, amount in amounts.items()}
