"""What a pass may do: decided by policies, carried out by `execute`. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from manta_common.deeds import Recheck
from manta_common.kinds import Kind
from manta_common.kube.series import Notice


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What users are told of an action: that it was done, or that it failed (the error is put behind)."""

    done: Notice | None = None
    failed: Notice | None = None


SILENT = Told()


class CreatePod(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A pod with a computed name; one that bears it already counts if it is the very same."""

    body: Mapping[str, Any]
    told: Told
    marker: str
    slot: str = ""  # whose setback it is when the pod is refused


class DeletePod(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """One pod less: this very one. A pod deleted because it failed is a setback for its slot."""

    name: str
    uid: str
    told: Told
    marker: str
    because: str
    slot: str = ""


class Create(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Another child. When its name is taken it must be `exclusive` to be ours, else whatever bears it will do."""

    kind: Kind
    body: Mapping[str, Any]
    told: Told = SILENT
    exclusive: bool = False


class CreateToken(msgspec.Struct, frozen=True, tag=True):
    """The Secret with the cluster's token, which is drawn when it is made."""

    name: str


class Patch(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A merge patch of an object of ours at the version that it was decided on."""

    kind: Kind
    name: str
    body: Mapping[str, Any]
    version: str
    told: Told = SILENT


class Delete(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """One child less that is not a pod: this very one."""

    kind: Kind
    name: str
    uid: str
    told: Told = SILENT
    finalizer: str = ""  # taken off first


class AddFinalizer(msgspec.Struct, frozen=True, tag=True):
    """The cluster is not to vanish before somebody has cleaned up after it."""

    finalizer: str


class Tell(msgspec.Struct, frozen=True, tag=True):
    """Say something to the users."""

    notice: Notice


class Halt(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What follows cannot be done; try again later."""

    message: str
    notice: Notice | None = None


Action = CreatePod | DeletePod | Create | CreateToken | Patch | Delete | AddFinalizer | Tell | Halt | Recheck
Phase = Sequence[Action]


def changes_anything(action: Action) -> bool:
    """Whether an action writes to the API server, so that the view must be waited for."""
    return not isinstance(action, Tell | Recheck | Halt)
