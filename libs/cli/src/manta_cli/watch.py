"""A live table of clusters, jobs and services; on a terminal it is drawn anew, else each change is a line."""

import argparse
import asyncio
import contextlib
from typing import Any, Final, Protocol

from manta_cli import cells, kinds
from manta_cli.failures import Failed
from manta_cli.session import Session, add_cluster
from manta_common.errors import Expired, Retry
from manta_common.keys import Key
from manta_common.kinds import RAYCLUSTER, RAYJOB, RAYSERVICE, Kind
from manta_common.kube.protocol import KindMissing, Scope

ENDED: Final = frozenset({"Complete", "Failed", "ValidationFailed"})
AGAIN_SECONDS: Final = 1.0
_BUSY: Final = {
    "Suspended": "Suspended",
    "Suspending": "Suspending",
    "RollbackInProgress": "RollingBack",
    "UpgradeInProgress": "Upgrading",
}
_HOME: Final = "\033[H\033[J"
_WIDTH: Final = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta watch`."""
    usual = "raycluster,rayjob,rayservice"
    parser.add_argument("kinds", metavar="KIND[,KIND]", nargs="?", default=usual, help=f"{usual} by default")
    parser.add_argument(
        "name", metavar="NAME", nargs="?", default="", help="one object; a RayJob is watched to its end"
    )
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="of all namespaces")
    add_cluster(parser)


class Shown(Protocol):
    """Whoever shows objects to a person."""

    def put(self, kind: Kind, obj: dict[str, Any], *, gone: bool = False) -> None:
        """An object is new, different or gone."""


class Board:
    """What is known of the objects, and how it is shown."""

    def __init__(self, session: Session) -> None:
        self._session, self._known = session, dict[tuple[Kind, Key], dict[str, Any]]()

    def put(self, kind: Kind, obj: dict[str, Any], *, gone: bool = False) -> None:
        """An object is new, different or gone."""
        meta = obj["metadata"]
        place = (kind, Key(meta.get("namespace", ""), meta["name"]))
        before = self._known.get(place)
        if gone:
            self._known.pop(place, None)
        else:
            self._known[place] = obj
        if self._session.console.is_terminal:
            self.draw()
        elif gone or before is None or self._row(kind, before) != self._row(kind, obj):
            self._session.console.say("   ".join([*self._row(kind, obj), *(["deleted"] if gone else [])]))

    def draw(self) -> None:
        """The whole table anew."""
        lines = [self._session.console.paint("manta watch: Ctrl-C ends it", "2"), ""]
        for kind in dict.fromkeys(kind for kind, _ in self._known):
            found = sorted((place[1], obj) for place, obj in self._known.items() if place[0] == kind)
            rows = [self._row(kind, obj) for _, obj in found]
            lines += [*self._session.console.lines(["KIND", "NAME", "STATE", "PROGRESS", "AGE"], rows), ""]
        self._session.console.write((_HOME + "\n".join(lines) + "\n").encode())

    def _row(self, kind: Kind, obj: dict[str, Any]) -> list[str]:
        meta = obj["metadata"]
        name = f"{meta['namespace']}/{meta['name']}" if self._session.options.all_namespaces else meta["name"]
        shown = [kind.name, name, state(kind, obj), progress(kind, obj)]
        if self._session.console.is_terminal:
            shown.append(cells.age(meta["creationTimestamp"], self._session.kube.now()))
        return shown


def state(kind: Kind, obj: dict[str, Any]) -> str:
    """One word on how an object is."""
    if kind == RAYSERVICE:
        return _service_state(obj)
    paths = {RAYCLUSTER: ".status.state", RAYJOB: ".status.jobDeploymentStatus"}
    return str(cells.at(obj, paths.get(kind, ".status.state")) or "new")


def progress(kind: Kind, obj: dict[str, Any]) -> str:
    """How far it has come: a bar of workers, or what Ray says of the job or the applications."""
    if kind == RAYSERVICE:
        return _service_progress(obj)
    if kind == RAYCLUSTER:
        wanted = cells.at(obj, ".status.desiredWorkerReplicas") or 0
        ready = cells.at(obj, ".status.readyWorkerReplicas") or 0
        filled = _WIDTH * min(ready, wanted) // wanted if wanted else (_WIDTH if state(kind, obj) == "ready" else 0)
        return f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {ready}/{wanted} workers"
    if kind == RAYJOB:
        return " ".join(filter(None, (cells.at(obj, ".status.jobStatus"), cells.at(obj, ".status.rayClusterName"))))
    return ""


def _service_state(obj: dict[str, Any]) -> str:
    """What a RayService is about, else whether it serves, else why it does not."""
    found = {one["type"]: one for one in cells.conditions(obj)}
    for kind, word in _BUSY.items():
        if found.get(kind, {}).get("status") == "True":
            return word
    return str(cells.at(obj, ".status.serviceStatus") or found.get("Ready", {}).get("reason") or "new")


def _service_progress(obj: dict[str, Any]) -> str:
    """Applications that run on the cluster to come, else on the one that serves; endpoints; and the upgrade."""
    active, pending = (cells.at(obj, f".status.{side}ServiceStatus") or {} for side in ("active", "pending"))
    shown = (pending or active).get("applicationStatuses") or {}
    running = sum(1 for one in shown.values() if one.get("status") == "RUNNING")
    words = [f"{running}/{len(shown)} applications", f"{cells.at(obj, '.status.numServeEndpoints') or 0} endpoints"]
    names = [side["rayClusterName"] for side in (active, pending) if side.get("rayClusterName")]
    traffic = pending.get("trafficRoutedPercent")
    where = " -> ".join(names) + (f" ({traffic}% of the traffic)" if traffic is not None and len(names) > 1 else "")
    return ", ".join([*words, *([where] if where else [])])


async def watch(session: Session) -> int:
    """Follow until Ctrl-C, or to the end of the one job that was named."""
    wanted = kinds.named(session.options.kinds)
    if session.options.name and len(wanted) != 1:
        raise Failed("a name needs exactly one kind: manta watch rayjob NAME")
    board = Board(session)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(follow(session, kind, board)) for kind in wanted]
        ended = [task for task, kind in zip(tasks, wanted, strict=True) if session.options.name and kind == RAYJOB]
        if ended:
            await ended[0]
    return 0


async def follow(session: Session, kind: Kind, board: Shown) -> None:
    """List and watch one kind; when the watch is lost, begin again."""
    options = session.options
    namespace = "" if options.all_namespaces else session.namespace
    fields = f"metadata.name={options.name}" if options.name else ""
    scope = Scope(namespace=namespace, fields=fields)
    while True:
        try:
            listing = await session.kube.list(kind, dict, scope)
            for obj in listing.items:
                board.put(kind, obj)
            if options.name and (not listing.items or _is_over(kind, listing.items[0])):
                _require(session, kind, listing.items)
                return
            if await _changes(session, kind, board, scope=scope, since=listing.version):
                return
        except KindMissing:
            raise
        except Expired:
            continue
        except Retry as error:
            session.console.tell(f"manta watch: {error}; trying again")
            await asyncio.sleep(AGAIN_SECONDS)


async def _changes(session: Session, kind: Kind, board: Shown, *, scope: Scope, since: str) -> bool:
    """Show changes until the watch ends; whether the one object that is watched has come to its end."""
    async with contextlib.aclosing(session.kube.watch(kind, dict, scope, since=since)) as changes:
        async for change in changes:
            if change.object is None:
                continue
            board.put(kind, change.object, gone=change.type == "DELETED")
            if session.options.name and (change.type == "DELETED" or _is_over(kind, change.object)):
                return True
    return False


def _is_over(kind: Kind, obj: dict[str, Any]) -> bool:
    return kind == RAYJOB and state(kind, obj) in ENDED


def _require(session: Session, kind: Kind, items: tuple[dict[str, Any], ...]) -> None:
    if not items:
        raise Failed(f"there is no {kind.name} {session.options.name} in namespace {session.namespace}")
