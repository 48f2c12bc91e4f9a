"""The Job that cleans Redis up, as an installation wants it, and free of what would hold it back. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from manta_common.api.raycluster import RayCluster
from manta_common.ray.cleanup import DEADLINE_SECONDS, redis_cleanup_job
from manta_common.ray.cluster import Manifest
from manta_common.ray.draft import append, equal_resources
from manta_common.ray.quantities import Quantity, QuantityError
from manta_common.ray.settings import RaySettings

CPU: Final = "ray.io/gcs-ft-redis-cleanup-job-cpu-resource"  # names proposed in kuberay#4763
MEMORY: Final = "ray.io/gcs-ft-redis-cleanup-job-memory-resource"
KUEUE: Final = "kueue.x-k8s.io/"


class CleanupJob(msgspec.Struct, frozen=True, kw_only=True):
    """How an installation wants the Jobs that clean Redis up."""

    cpu: str = "200m"
    memory: str = "256Mi"
    deadline_seconds: int = DEADLINE_SECONDS
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()


def cleanup_job(cluster: RayCluster, ray: RaySettings, wanted: CleanupJob) -> Manifest:
    """The Job for one cluster, whose annotations may ask for other resources."""
    job = redis_cleanup_job(cluster, ray)
    template = job["spec"]["template"]
    job["spec"]["activeDeadlineSeconds"] = wanted.deadline_seconds
    marks = cluster.metadata.annotations
    cpu, memory = _quantity(marks.get(CPU), wanted.cpu), _quantity(marks.get(MEMORY), wanted.memory)
    template["spec"]["containers"][0]["resources"] = equal_resources(cpu, memory)
    append(template["spec"], "tolerations", wanted.tolerations)
    for metadata in (job["metadata"], template["metadata"]):
        _free(metadata)
        metadata["labels"] |= wanted.labels
    _free_to_be_scheduled(template["spec"])
    return job


def _quantity(asked: str | None, usual: str) -> str:
    """What the cluster asks for; a text that is no amount would keep the Job from being made at all."""
    try:
        return usual if asked is None or Quantity.parse(asked).nanos <= 0 else asked
    except QuantityError:
        return usual


def _free(metadata: Manifest) -> None:
    """Without Kueue's marks of the head: by them the Job waits for a place that the deleted cluster has given back.

    See kueue#12778.
    """
    for marks in ("labels", "annotations"):
        metadata[marks] = {name: value for name, value in metadata[marks].items() if not name.startswith(KUEUE)}


def _free_to_be_scheduled(spec: Manifest) -> None:
    kept = [gate for gate in spec.pop("schedulingGates", ()) if not gate["name"].startswith(KUEUE)]
    if kept:
        spec["schedulingGates"] = kept
