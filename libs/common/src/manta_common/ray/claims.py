"""The claim for the volume that holds the GCS' embedded storage."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from manta_common.api import labels, names
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayoptions import GcsEmbeddedStorage
from manta_common.ray.cluster import Manifest, child
from manta_common.ray.quantities import canonical

_SIZE: Final = "1Gi"
_ACCESS_MODES: Final = ("ReadWriteOnce",)


def gcs_claim(cluster: RayCluster) -> Manifest:
    """The claim that the operator makes; one to be retained does not belong to the cluster."""
    storage = embedded_storage(cluster)
    name, labelled = names.gcs_claim(cluster.metadata.name), {labels.CLUSTER: cluster.metadata.name}
    made = child(cluster, "v1", "PersistentVolumeClaim", name=name, labelled=labelled)
    if is_retained(cluster):
        del made["metadata"]["ownerReferences"]
    made["spec"] = {
        "accessModes": list(storage.access_modes or _ACCESS_MODES),
        "resources": {"requests": {"storage": _SIZE if storage.size is None else storage.size}},
    }
    if storage.storage_class_name is not None:
        made["spec"]["storageClassName"] = storage.storage_class_name
    return made


def embedded_storage(cluster: RayCluster) -> GcsEmbeddedStorage:
    """What the spec says of the volume."""
    options = cluster.spec.gcs_fault_tolerance_options
    return (options and options.storage) or GcsEmbeddedStorage()


def is_retained(cluster: RayCluster) -> bool:
    """Whether the claim outlives the cluster."""
    return embedded_storage(cluster).deletion_policy == "Retain"


def claim_drift(cluster: RayCluster, found: Mapping[str, Any]) -> list[str]:
    """What a claim that is there has otherwise than the spec wants; it cannot be changed in place."""
    wanted, spec = gcs_claim(cluster)["spec"], found.get("spec") or {}
    drift = []
    asked, there = _size(wanted), _size(spec)
    if there is None or asked != there:
        drift.append(f"size: want {asked}, have {there or 'none'}")
    asked_class, found_class = wanted.get("storageClassName"), spec.get("storageClassName")
    if asked_class is not None and asked_class != found_class:
        drift.append(f"storageClassName: want {asked_class!r}, have {found_class or ''!r}")
    if Counter(wanted["accessModes"]) != Counter(spec.get("accessModes") or ()):
        drift.append(f"accessModes: want {wanted['accessModes']}, have {spec.get('accessModes') or []}")
    return drift


def _size(spec: Mapping[str, Any]) -> str | None:
    amount = spec.get("resources", {}).get("requests", {}).get("storage")
    return None if amount is None else canonical(amount)
