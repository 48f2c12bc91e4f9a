"""What the watcher may do: see what it watches, and publish it."""

from manta_common.rights import BusRights, Rights, right
from manta_watcher.watched import WATCHED

_MOVED = "read again when it turns out late whose an object is"

RIGHTS = Rights(
    service="watcher",
    kubernetes=tuple(
        one
        for watched in WATCHED
        for one in (right(watched.kind, "list watch"), right(watched.kind, "get", why=_MOVED))
    ),
    planes=("watcher",),
    bus=BusRights(publishes=tuple(watched.kind.name for watched in WATCHED)),
)
