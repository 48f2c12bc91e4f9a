"""Says what is new: the last word on each job, written only over what this gateway knows to stand there."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from manta_common.bus.channel import Channel, State
from manta_common.bus.packing import Poison
from manta_common.bus.protocol import Bus
from manta_common.dashboard.reports import JobReport, ServeReport, is_same
from manta_common.errors import Conflict, Unreachable
from manta_common.feed import number
from manta_common.keys import Key
from manta_common.telemetry.stamps import stamp
from manta_common.telemetry.tracing import Tracing
from manta_dashboard_gateway.cache import Cache
from manta_dashboard_gateway.sayings import version_of

TOMBSTONE_SECONDS = 2 * 3600.0
COMES_BACK_SECONDS = 5.0  # a word of ours that our feed does not show by then may be lost

R = TypeVar("R", JobReport, ServeReport)


class Place(Generic[R]):
    """Where a report stands: a channel, a partition, and whom it is about. It is kept: a subject takes time to make."""

    def __init__(self, channel: Channel[R], partition: int, key: Key) -> None:
        self.channel: Channel[R] = channel
        self.partition, self.key = partition, key
        self.subject = channel.subject(partition, key)


class Word(msgspec.Struct, Generic[R], kw_only=True):
    """What stands in the stream, as far as this gateway knows; `confirmed` once its own feed has shown it."""

    report: R | None
    sequence: int
    version: int
    known_at: float
    confirmed: bool = False


class Publisher:
    """Writes reports. `shown` tells which version of a report our own feed shows, or -1."""

    def __init__(
        self, bus: Bus, monotonic: Callable[[], float], tracing: Tracing, *, told: Callable[[str], None]
    ) -> None:
        self._bus, self._monotonic, self._tracing, self._told = bus, monotonic, tracing, told
        self._words: Cache[str, Word[Any]] = Cache(monotonic)

    async def recall(self, place: Place[R], shown: int) -> R | None:
        """The report that stands there."""
        return (await self._word(place, shown)).report

    async def say(self, place: Place[R], uid: str, report: R, *, shown: int) -> None:
        """Make this the last word, unless a reader could not tell it from what stands there."""
        word = await self._word(place, shown)
        if is_same(word.report, report):
            self._told("unchanged")
            return
        try:
            await self._write(place, uid, report, over=word)
        except Conflict:
            self._told("conflict")
            word = await self._look(place)
            if not is_same(word.report, report):
                await self._write(place, uid, report, over=word)

    def is_lost(self, place: Place[R], shown: int) -> bool:
        """Whether what this gateway said there is no longer to be seen, or not yet after a long time."""
        known = self._words.find(place.subject)
        return known is not None and known[0].report is not None and not self._is_seen(known[0], shown)

    async def bury(self, place: Place[R], uid: str) -> None:
        """Nobody needs this report any more."""
        word = await self._look(place)
        state: State[R] = State(key=place.key, uid=uid, version=str(word.version + 1))
        body = place.channel.encode(state)
        await self._bus.publish(place.subject, body, expect=word.sequence, ttl_seconds=TOMBSTONE_SECONDS)
        self._words.drop(place.subject)
        self._told("buried")

    async def _word(self, place: Place[R], shown: int) -> Word[R]:
        """What stands there: as we know it while our own feed shows the same, else as the stream has it."""
        known = self._words.find(place.subject)
        if known and self._is_seen(known[0], shown):
            word: Word[R] = known[0]
            return word
        return await self._look(place)

    def _is_seen(self, word: Word[Any], shown: int) -> bool:
        """Whether our feed shows this word, or may not have shown it yet; what it showed once must not vanish."""
        if shown == (word.version if word.report else -1):
            word.confirmed = True
            return True
        return not word.confirmed and self._monotonic() - word.known_at < COMES_BACK_SECONDS

    async def _look(self, place: Place[R]) -> Word[R]:
        message = await self._bus.last(place.subject)
        report, version = None, 0
        if message:
            try:
                state = place.channel.decode(message.body)
                report, version = state.object, number(state.version)
            except (Poison, ValueError):
                report = None  # whatever it is, it is written over
        return self._know(
            place,
            Word(
                report=report, sequence=message.sequence if message else 0, version=version, known_at=self._monotonic()
            ),
        )

    async def _write(self, place: Place[R], uid: str, report: R, *, over: Word[R]) -> None:
        version = version_of(report.asked_at, over.version)
        body = place.channel.encode(State(key=place.key, uid=uid, version=str(version), object=report))
        try:
            sequence = await self._bus.publish(place.subject, body, expect=over.sequence, headers=stamp(self._tracing))
        except Unreachable:
            self._words.drop(place.subject)  # it may have been written
            raise
        self._know(place, Word(report=report, sequence=sequence, version=version, known_at=self._monotonic()))
        self._told("published")

    def _know(self, place: Place[R], word: Word[R]) -> Word[R]:
        self._words.put(place.subject, word)
        return word
