"""One reign of a watcher: read the stream, list everything, make the stream right and keep it so."""

import asyncio
import itertools
import logging
import random
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Any

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.bus.channel import Channel
from manta_common.bus.protocol import Bus
from manta_common.delays import delay_seconds
from manta_common.errors import Expired, NotFound, Retry
from manta_common.kube.protocol import Change, KindMissing, Kube
from manta_common.partitions import PARTITIONS
from manta_common.telemetry.names import WATCH_SPAN, attributes
from manta_common.telemetry.stamps import stamp
from manta_common.telemetry.tracing import Headers, Tracing
from manta_watcher.desk import TOMBSTONE_SECONDS, Desk, Sighting
from manta_watcher.lines import Line, lines, outline
from manta_watcher.outbox import Outbox
from manta_watcher.roots import Place, parent
from manta_watcher.standing import Standing
from manta_watcher.tally import Tally
from manta_watcher.watched import WATCHED, Watched

MISSING_KIND_SECONDS = 30.0
OVERDUE_EVERY_SECONDS = 5.0
log = logging.getLogger(__name__)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be watched and how it is spread."""

    watched: tuple[Watched, ...] = WATCHED
    namespaces: tuple[str, ...] = ()
    partitions: int = PARTITIONS
    parent: Callable[[str, ObjectMeta], Place | None] = parent
    tombstone_seconds: float = TOMBSTONE_SECONDS  # a consumer that is cut off for longer reads anew


class Session:
    """Everything a reign knows; a new reign begins with nothing."""

    def __init__(
        self, kube: Kube, bus: Bus, task: Task, tally: Tally | None = None, tracing: Tracing | None = None
    ) -> None:
        self._kube, self._bus, self._tally, self._tracing = kube, bus, tally or Tally(), tracing or Tracing()
        self._lines = lines(task.watched, task.namespaces)
        kinds = {watched.kind.name: watched.type for watched in task.watched}
        self._channels: dict[str, Channel[Any]] = {word: Channel(word, type_) for word, type_ in kinds.items()}
        self._decoders = {word: msgspec.json.Decoder(type_) for word, type_ in kinds.items()}
        self._outbox = Outbox(bus, self._tracing)
        self._desk = Desk(
            self._outbox,
            self._channels,
            partitions=task.partitions,
            parent=task.parent,
            tombstone_seconds=task.tombstone_seconds,
        )
        self._standing = Standing(self._desk, self._outbox, self._lines, self._tally)
        self._again: asyncio.Queue[Place] = asyncio.Queue()
        self._versions: dict[Line, str] = {}
        self._chance = random.Random(0)  # spreads our own tries only, for nobody else reigns

    @property
    def depth(self) -> int:
        """How many subjects wait to be published."""
        return self._outbox.depth

    @property
    def known(self) -> int:
        """How many objects are published."""
        return self._desk.known

    @property
    def withheld(self) -> int:
        """How many objects wait for what they belong to."""
        return self._desk.withheld

    async def run(self) -> None:
        """Reign until cancelled, or until the stream must be read anew or somebody else writes it."""
        filters = [channel.filter() for channel in self._channels.values()]
        async with self._bus.replay(filters) as batches:
            await self._standing.read(batches)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._outbox.run())
                group.create_task(self._standing.guard(batches))
                group.create_task(self._standing.look_after(self._bus))
                group.create_task(self._look_again())
                group.create_task(self._release_overdue())
                for line in self._lines:
                    await self._list(line)
                self._tally.whole = True
                for line in self._lines:
                    group.create_task(self._follow(line))

    async def _list(self, line: Line) -> None:
        """List one scope, however often it takes, and note what it shows and what it does not."""
        delays = self._delays()
        while True:
            try:
                self._versions[line] = await self._list_once(line)
            except KindMissing:
                self._desk.listed(line.watched.kind.name, set(), version=0, scope=line.bit, headers=self._stamp())
                self._versions[line] = ""
            except Retry as error:
                await self._wait(next(delays), "list failed", line, error)
                continue
            return

    async def _list_once(self, line: Line) -> str:
        places, version = set[Place](), ""
        async with aclosing(self._kube.pages(line.watched.kind, msgspec.Raw, line.scope)) as pages:
            async for page in pages:
                version, headers = version or page.version, self._stamp()
                for raw in page.items:
                    places.add(self._see(line, raw, headers))
        kind, headers = line.watched.kind.name, self._stamp()
        self._desk.listed(kind, places, version=int(version), scope=line.bit, headers=headers)
        self._tally.listed += len(places)
        return version

    async def _follow(self, line: Line) -> None:
        """Watch one scope for ever; list it again when the version has expired."""
        delays = self._delays()
        while True:
            try:
                if not self._versions[line]:
                    await asyncio.sleep(MISSING_KIND_SECONDS)
                    await self._list(line)
                    continue
                await self._watch(line)
                delays = self._delays()
            except Expired:
                await self._list(line)
            except Retry as error:
                await self._wait(next(delays), "watch failed", line, error)

    async def _watch(self, line: Line) -> None:
        kind, since = line.watched.kind, self._versions[line]
        async with aclosing(self._kube.watch(kind, msgspec.Raw, line.scope, since=since)) as changes:
            async for change in changes:
                self._take(line, change)
                self._versions[line] = change.version

    def _take(self, line: Line, change: Change[msgspec.Raw]) -> None:
        if change.object is None:
            return
        self._tally.changes += 1
        with self._tracing.span(WATCH_SPAN, attributes(kind=line.watched.kind.name, change=change.type)):
            if change.type == "DELETED":
                self._vanish(line, change.object, int(change.version))
            else:
                self._see(line, change.object, self._stamp())

    def _vanish(self, line: Line, raw: msgspec.Raw, version: int) -> None:
        metadata = outline(raw)
        place = line.place(metadata)
        self._desk.vanish(place, uid=metadata.uid, version=version, scope=line.bit, headers=self._stamp())

    def _stamp(self) -> Headers:
        """What a message carries of what is seen now."""
        return stamp(self._tracing)

    def _see(self, line: Line, raw: msgspec.Raw, headers: Headers) -> Place:
        """Hand an object to the desk; one that does not fit its type is told of and stays as it was published."""
        try:
            found = self._decoders[line.watched.kind.name].decode(raw)
        except msgspec.ValidationError as error:
            self._tally.unreadable += 1
            place = line.place(outline(raw))
            extra = {"kind": place.kind, "key": str(place.key), "error": str(error)}
            log.error("object cannot be read", extra=extra)  # noqa: TRY400  the trace would say no more
            return place
        place = line.place(found.metadata)
        sighting = Sighting(place=place, object=found, scope=line.bit, headers=headers)
        for other in self._desk.see(sighting, asyncio.get_running_loop().time()):
            self._again.put_nowait(other)
        return place

    async def _look_again(self) -> None:
        """Read objects anew whose place in the stream has changed by what was seen of others."""
        delays = self._delays()
        while True:
            place = await self._again.get()
            line = next(line for line in self._lines if line.watched.kind.name == place.kind)
            try:
                raw = await self._kube.get(line.watched.kind, place.key, msgspec.Raw)
            except NotFound:
                self._desk.forget(place)
                continue
            except Retry as error:
                self._again.put_nowait(place)
                await self._wait(next(delays), "get failed", line, error)
                continue
            self._see(msgspec.structs.replace(line, bit=0), raw, self._stamp())
            delays = self._delays()

    async def _release_overdue(self) -> None:
        """Publish what has waited too long for what it belongs to."""
        while True:
            await asyncio.sleep(OVERDUE_EVERY_SECONDS)
            for place in self._desk.overdue(asyncio.get_running_loop().time()):
                self._again.put_nowait(place)

    def _delays(self) -> Iterator[float]:
        """How long to wait after each failure in a row."""
        for failures in itertools.count():
            yield delay_seconds(failures, shortest=0.1, longest=10.0, chance=self._chance.random())

    async def _wait(self, seconds: float, what: str, line: Line, error: Retry) -> None:
        extra = {"kind": line.watched.kind.name, "error": str(error), "again_in_seconds": round(seconds, 2)}
        log.warning(what, extra=extra)
        await asyncio.sleep(seconds)
