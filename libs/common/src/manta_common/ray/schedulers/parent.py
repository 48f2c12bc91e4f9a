"""Whom a batch scheduler looks at: a RayCluster, or the RayJob that it is made for."""

from collections.abc import Mapping
from typing import Any

import msgspec

from manta_common.api import labels, names
from manta_common.api.meta import ObjectMeta
from manta_common.api.raycluster import RayCluster, RayClusterSpec
from manta_common.api.rayjob import RayJob
from manta_common.ray.cluster import Manifest


class Parent(msgspec.Struct, frozen=True, kw_only=True):
    """The object whose labels choose queue and gang; a RayJob may have a submitter's pod template."""

    kind: str
    metadata: ObjectMeta
    spec: RayClusterSpec
    submitter: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def autoscaling(self) -> bool:
        """Whether Ray's autoscaler sets the number of workers."""
        return self.spec.enable_in_tree_autoscaling is True

    @property
    def wants_gang(self) -> bool:
        """Whether all of its pods are to start together, by a label that need only be there."""
        return labels.GANG_SCHEDULING in self.metadata.labels

    def label(self, key: str) -> str:
        """The value of one of its labels, empty where it has none."""
        return self.metadata.labels.get(key, "")

    def owner_reference(self) -> Manifest:
        """The controller reference for what is made for it."""
        return plain_reference(self) | {"controller": True, "blockOwnerDeletion": True}


def cluster_parent(cluster: RayCluster) -> Parent:
    """A cluster as the parent of its pods."""
    return Parent(kind="RayCluster", metadata=cluster.metadata, spec=cluster.spec)


def job_parent(job: RayJob, spec: RayClusterSpec, submitter: Mapping[str, Any] | None = None) -> Parent:
    """A job as the parent of its cluster and of its submitter, whose pod template is given where there is one."""
    return Parent(kind="RayJob", metadata=job.metadata, spec=spec, submitter=submitter)


def plain_reference(parent: Parent) -> Manifest:
    """A reference that makes the garbage collector follow, and nothing more."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": parent.kind,
        "name": parent.metadata.name,
        "uid": parent.metadata.uid,
    }
