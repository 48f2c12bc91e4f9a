"""One reign of a watcher: read the stream, list everything, make the stream right and keep it so."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.bus.channel import STATE_PREFIX, Channel
from manta_common.bus.packing import Poison
from manta_common.bus.protocol import Batch, Bus, Message
from manta_common.errors import Expired, NotFound, Retry, Unreachable
from manta_common.keys import Key
from manta_common.kube.protocol import Change, KindMissing, Kube, Scope
from manta_common.partitions import PARTITIONS
from manta_watcher.desk import Desk, Record, Sighting
from manta_watcher.outbox import Outbox
from manta_watcher.roots import Place, parent
from manta_watcher.watched import WATCHED, Watched

FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 0.1, 10.0
MISSING_KIND_SECONDS = 30.0
OVERDUE_EVERY_SECONDS = 5.0
log = logging.getLogger(__name__)


class StreamReplaced(Unreachable):
    """The stream had to be read anew: what is known of it may be wrong."""


class Line(msgspec.Struct, frozen=True):
    """One scope of one kind, with the bit that stands for it."""

    watched: Watched
    scope: Scope
    bit: int


class Outline(msgspec.Struct, frozen=True):
    """What can be read of any object."""

    metadata: ObjectMeta


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be watched and how it is spread."""

    watched: tuple[Watched, ...] = WATCHED
    namespaces: tuple[str, ...] = ()
    partitions: int = PARTITIONS
    parent: Callable[[str, ObjectMeta], Place | None] = parent


class Tally:
    """What telemetry asks of a watcher."""

    def __init__(self) -> None:
        self.listed = self.changes = self.unreadable = self.sessions = 0
        self.whole = False


class Session:
    """Everything a reign knows; a new reign begins with nothing."""

    def __init__(self, kube: Kube, bus: Bus, task: Task, tally: Tally | None = None) -> None:
        self._kube, self._bus, self._tally = kube, bus, tally or Tally()
        self._lines = _lines(task)
        kinds = {watched.kind.name: watched.type for watched in task.watched}
        self._channels: dict[str, Channel[Any]] = {word: Channel(word, type_) for word, type_ in kinds.items()}
        self._raws = {word: Channel(word, msgspec.Raw) for word in kinds}
        self._decoders = {word: msgspec.json.Decoder(type_) for word, type_ in kinds.items()}
        self._sequences: dict[str, int] = {}
        self._outbox = Outbox(bus, self._sequences)
        self._desk = Desk(self._outbox, self._channels, parent=task.parent, partitions=task.partitions)
        self._again: asyncio.Queue[Place] = asyncio.Queue()
        self._versions: dict[Line, str] = {}

    @property
    def depth(self) -> int:
        """How many subjects wait to be published."""
        return self._outbox.depth

    @property
    def known(self) -> int:
        """How many objects are published."""
        return self._desk.known

    async def run(self) -> None:
        """Reign until cancelled, or until the stream must be read anew or somebody else writes it."""
        filters = [channel.filter() for channel in self._channels.values()]
        async with self._bus.replay(filters) as batches:
            await self._read_stream(batches)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._outbox.run())
                group.create_task(_guard(batches))
                group.create_task(self._look_again())
                group.create_task(self._release_overdue())
                for line in self._lines:
                    await self._list(line)
                self._tally.whole = True
                for line in self._lines:
                    group.create_task(self._follow(line))

    async def _read_stream(self, batches: AsyncIterator[Batch]) -> None:
        """What stands in the stream from before."""
        async for batch in batches:
            for message in batch.messages:
                self._recall(message)
            if batch.caught_up:
                return

    def _recall(self, message: Message) -> None:
        """Remember one message; one that cannot be read counts as an object that nobody has seen yet."""
        self._sequences[message.subject] = message.sequence
        word = message.subject.removeprefix(f"{STATE_PREFIX}.").split(".")[1]
        partition, key = self._channels[word].parse(message.subject)
        uid, version = "", "0"
        try:
            state = self._raws[word].decode(message.body)
            if state.object is None:
                return
            uid, version = state.uid, state.version
        except Poison as error:
            log.error("message cannot be read", extra={"subject": message.subject, "error": str(error)})  # noqa: TRY400
        self._desk.recall(Place(word, key), Record(partition, uid, int(version), self._bits(word, key)))

    def _bits(self, kind: str, key: Key) -> int:
        """The scopes that might show an object."""
        found = (line for line in self._lines if line.watched.kind.name == kind)
        return sum(line.bit for line in found if line.scope.namespace in ("", key.namespace))

    async def _list(self, line: Line) -> None:
        """List one scope, however often it takes, and note what it shows and what it does not."""
        delays = _delays()
        while True:
            try:
                self._versions[line] = await self._list_once(line)
            except KindMissing:
                self._desk.listed(line.watched.kind.name, set(), version=0, scope=line.bit)
                self._versions[line] = ""
            except Retry as error:
                await self._wait(next(delays), "list failed", line, error)
                continue
            return

    async def _list_once(self, line: Line) -> str:
        places, version = set[Place](), ""
        async with aclosing(self._kube.pages(line.watched.kind, msgspec.Raw, line.scope)) as pages:
            async for page in pages:
                version = version or page.version
                for raw in page.items:
                    places.add(self._see(line, raw))
        self._desk.listed(line.watched.kind.name, places, version=int(version), scope=line.bit)
        self._tally.listed += len(places)
        return version

    async def _follow(self, line: Line) -> None:
        """Watch one scope for ever; list it again when the version has expired."""
        delays = _delays()
        while True:
            try:
                if not self._versions[line]:
                    await asyncio.sleep(MISSING_KIND_SECONDS)
                    await self._list(line)
                    continue
                await self._watch(line)
                delays = _delays()
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
        self._tally.changes += 1
        if change.object is None:
            return
        if change.type != "DELETED":
            self._see(line, change.object)
            return
        metadata = _outline(change.object)
        place = _place(line, metadata)
        self._desk.vanish(place, uid=metadata.uid, version=int(change.version), scope=line.bit)

    def _see(self, line: Line, raw: msgspec.Raw) -> Place:
        """Hand an object to the desk; one that does not fit its type is told of and stays as it was published."""
        try:
            found = self._decoders[line.watched.kind.name].decode(raw)
        except msgspec.ValidationError as error:
            self._tally.unreadable += 1
            place = _place(line, _outline(raw))
            extra = {"kind": place.kind, "key": str(place.key), "error": str(error)}
            log.error("object cannot be read", extra=extra)  # noqa: TRY400  the trace would say no more
            return place
        place = _place(line, found.metadata)
        sighting = Sighting(place=place, object=found, scope=line.bit)
        for other in self._desk.see(sighting, asyncio.get_running_loop().time()):
            self._again.put_nowait(other)
        return place

    async def _look_again(self) -> None:
        """Read objects anew whose place in the stream has changed by what was seen of others."""
        delays = _delays()
        while True:
            place = await self._again.get()
            line = next(line for line in self._lines if line.watched.kind.name == place.kind)
            try:
                raw = await self._kube.get(line.watched.kind, place.key, msgspec.Raw)
            except NotFound:
                continue
            except Retry as error:
                self._again.put_nowait(place)
                await self._wait(next(delays), "get failed", line, error)
                continue
            self._see(msgspec.structs.replace(line, bit=0), raw)
            delays = _delays()

    async def _release_overdue(self) -> None:
        """Publish what has waited too long for what it belongs to."""
        while True:
            await asyncio.sleep(OVERDUE_EVERY_SECONDS)
            for place in self._desk.overdue(asyncio.get_running_loop().time()):
                self._again.put_nowait(place)

    async def _wait(self, seconds: float, what: str, line: Line, error: Retry) -> None:
        extra = {"kind": line.watched.kind.name, "error": str(error), "again_in_seconds": round(seconds, 2)}
        log.warning(what, extra=extra)
        await asyncio.sleep(seconds)


async def _guard(batches: AsyncIterator[Batch]) -> None:
    """Go on reading the stream, only to notice when it had to be read anew."""
    async for batch in batches:
        if batch.fresh:
            raise StreamReplaced("the stream was lost or replaced")


def _lines(task: Task) -> list[Line]:
    scopes = [(watched, scope) for watched in task.watched for scope in watched.scopes(task.namespaces)]
    return [Line(watched, scope, 1 << number) for number, (watched, scope) in enumerate(scopes)]


def _delays() -> Any:
    """Growing delays with jitter."""
    delay = FIRST_DELAY_SECONDS
    while True:
        yield delay * random.uniform(0.7, 1)
        delay = min(2 * delay, LONGEST_DELAY_SECONDS)


def _outline(raw: msgspec.Raw) -> ObjectMeta:
    return msgspec.json.decode(raw, type=Outline).metadata


def _place(line: Line, metadata: ObjectMeta) -> Place:
    return Place(line.watched.kind.name, Key(metadata.namespace, metadata.name))
