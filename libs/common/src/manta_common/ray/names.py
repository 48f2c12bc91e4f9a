"""The names of a cluster's pods: computed from what they are for, so that a pod made twice is made once."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from manta_common.api import labels, names
from manta_common.api.meta import ObjectMeta
from manta_common.api.raycluster import RayCluster
from manta_common.ray.cluster import head_template
from manta_common.ray.settings import RaySettings

UNKNOWN_LIFE: Final = -1
_PARTS: Final = 3


class Place(msgspec.Struct, frozen=True, order=True):
    """Which worker of its group a pod is, which host of that worker, and how many pods were there before it."""

    replica: int
    host: int = 0
    life: int = 0


def head_pod_name(cluster: RayCluster, life: int, settings: RaySettings) -> str:
    """The head Pod's name: the template's own, the fixed one, or a computed one."""
    own = head_template(cluster).metadata.name
    if own:
        return own
    if settings.fixed_head_name:
        return names.head_pod(cluster.metadata.name)
    tail = names.suffix(cluster.metadata.uid, labels.HEAD_GROUP, str(life))
    return names.head_pod_prefix(cluster.metadata.name) + tail


def worker_pod_name(cluster: RayCluster, group: str, place: Place) -> str:
    """A worker Pod's name; two places have the same with a chance of one in 14 million."""
    seeds = (group, str(place.replica), str(place.host), str(place.life))
    return names.worker_pod_prefix(cluster.metadata.name, group) + names.suffix(cluster.metadata.uid, *seeds)


def replica_name(cluster: RayCluster, group: str, place: Place) -> str:
    """What the pods of one worker with several hosts have in common."""
    return names.suffixed(group, cluster.metadata.uid, group, str(place.replica), str(place.life))


def worker_record(cluster: RayCluster, group: str, place: Place) -> str:
    """A worker Pod's generateName.

    The Pod has a name of its own, so the API server only keeps this: it tells the place without an annotation that
    KubeRay's pods do not have.
    """
    prefix = names.worker_pod_prefix(cluster.metadata.name, group)
    return f"{prefix}{place.replica}-{place.host}-{place.life}-"


def place_of(metadata: ObjectMeta) -> Place | None:
    """Where a worker Pod stands; KubeRay's own pods do not tell their life, and without the gate not even that."""
    parts = metadata.generate_name.removesuffix("-").rsplit("-", _PARTS)
    if len(parts) > _PARTS and all(part.isdecimal() for part in parts[1:]):
        return Place(*(int(part) for part in parts[1:]))
    replica, host = metadata.labels.get(labels.REPLICA_INDEX, ""), metadata.labels.get(labels.HOST_INDEX, "0")
    if not (replica.isdecimal() and host.isdecimal()):
        return None
    return Place(int(replica), int(host), UNKNOWN_LIFE)


def is_same_pod(found: ObjectMeta, wanted: Mapping[str, Any]) -> bool:
    """Whether a Pod whose name was taken is the very one that was to be made, and not on its way out."""
    metadata = wanted["metadata"]
    owners = {owner.uid for owner in found.owner_references if owner.controller}
    ours = {owner["uid"] for owner in metadata["ownerReferences"]}
    return found.deletion_timestamp is None and owners == ours and found.generate_name == metadata["generateName"]
