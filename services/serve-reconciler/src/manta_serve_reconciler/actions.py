"""What a pass may do for a RayService; each action is carried out by one branch of `execute`."""

from typing import Any, Literal

import msgspec

from manta_common.api.rayservice import RayServiceStatuses
from manta_common.deeds import Recheck, Tell

Which = Literal["head", "serve", "cluster"]
Routing = Literal["gateway", "httproute"]


class AddFinalizer(msgspec.Struct, frozen=True, tag=True):
    """See to it that the object is not gone before its clusters are."""


class RemoveFinalizer(msgspec.Struct, frozen=True, tag=True):
    """Let the object go."""


class CreateCluster(msgspec.Struct, frozen=True, tag=True):
    """Make a cluster from the spec as it is now."""

    name: str


class UpdateCluster(msgspec.Struct, frozen=True, tag=True):
    """Bring a cluster to the spec in place."""

    name: str
    role: Literal["active", "pending"]


class DeleteCluster(msgspec.Struct, frozen=True, tag=True):
    """Delete a cluster that is not needed any more; `suspending` says that all go."""

    name: str
    uid: str
    because: str
    suspending: bool = False


class DeleteService(msgspec.Struct, frozen=True, tag=True):
    """Delete a Service of a RayService that is suspended."""

    name: str
    uid: str


class LabelHead(msgspec.Struct, frozen=True, tag=True):
    """Let the serve Service send to a head pod, or not."""

    pod: str
    uid: str
    value: str


class CreateService(msgspec.Struct, frozen=True, tag=True):
    """Make the head or the serve Service so that it leads to a cluster; `cluster` is the serve Service of one alone."""

    which: Which
    name: str
    cluster: str


class MoveService(msgspec.Struct, frozen=True, tag=True):
    """Let that Service lead to another cluster."""

    which: Which
    name: str
    cluster: str
    version: str


class Submit(msgspec.Struct, frozen=True, tag=True):
    """Give Serve on a cluster the applications that it shall run; `keeps_config` changes their capacity alone."""

    cluster: str
    capacity: int | None = None
    keeps_config: bool = False


class PutObject(msgspec.Struct, frozen=True, tag=True):
    """Make the Gateway or the HTTPRoute, or change the one of this version."""

    which: Routing
    manifest: dict[str, Any]
    version: str = ""


class DeleteObject(msgspec.Struct, frozen=True, tag=True):
    """Delete the Gateway or the HTTPRoute of a RayService that is suspended."""

    which: Routing
    name: str
    uid: str


class WriteStatus(msgspec.Struct, frozen=True, tag=True):
    """Write what changed of the status."""

    status: RayServiceStatuses


Action = (
    AddFinalizer
    | RemoveFinalizer
    | CreateCluster
    | UpdateCluster
    | DeleteCluster
    | DeleteService
    | LabelHead
    | CreateService
    | MoveService
    | Submit
    | PutObject
    | DeleteObject
    | WriteStatus
    | Tell
    | Recheck
)
