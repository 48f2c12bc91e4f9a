"""Which Ray objects nobody looks after: what owned them is gone, and they were not deleted with it. Pure."""

from collections.abc import Mapping
from typing import Final

import msgspec

from manta_common.api import labels
from manta_common.api.wire import Time, Wire
from manta_common.keys import Key
from manta_common.kinds import JOB, RAYCLUSTER, RAYJOB, RAYSERVICE, Kind
from manta_janitor.observed import Owner

OWNERS: Final[Mapping[str, Kind]] = {kind.kind: kind for kind in (RAYCLUSTER, RAYJOB, RAYSERVICE, JOB)}


class ChildMeta(Wire, frozen=True, kw_only=True):
    """Which object it is, whose it is, and whether it goes already."""

    name: str = ""
    namespace: str = ""
    deletion_timestamp: Time | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: tuple[Owner, ...] = ()

    def __post_init__(self) -> None:
        """Of the labels, the one that says where it belongs."""
        cluster = self.labels.get(labels.CLUSTER)
        msgspec.structs.force_setattr(self, "labels", {labels.CLUSTER: cluster} if cluster else {})


class Child(Wire, frozen=True, kw_only=True):
    """A pod, Service or Job of Ray's, as far as it must be known whose it is."""

    metadata: ChildMeta = msgspec.field(default_factory=ChildMeta)


class Belonging(msgspec.Struct, frozen=True):
    """To whom a child belongs; without a uid, whoever bears the name."""

    kind: Kind
    key: Key
    uid: str = ""


def owner_of(child: Child) -> Belonging | None:
    """Return the Ray object or Job that owns a child, or the cluster that an ownerless one names by its label.

    None for what is somebody else's. Owner references are removed when an owner is deleted but its children are not
    (`kubectl delete --cascade=orphan`); then the label is all that is left.
    """
    meta = child.metadata
    owners = sorted(meta.owner_references, key=lambda owner: not owner.controller)
    for owner in owners:
        if owner.kind in OWNERS:
            return Belonging(OWNERS[owner.kind], Key(meta.namespace, owner.name), owner.uid)
    cluster = meta.labels.get(labels.CLUSTER)
    if owners or not cluster:
        return None
    return Belonging(RAYCLUSTER, Key(meta.namespace, cluster))


def is_there(owner: Belonging, uid: str | None) -> bool:
    """Whether the object that bears the owner's name, if one does, is the owner."""
    return uid is not None and owner.uid in ("", uid)
