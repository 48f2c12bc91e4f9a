"""What stands in the stream: read when a reign begins, and looked after while it lasts."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

from manta_common.bus.channel import Channel, word_of
from manta_common.bus.packing import Poison
from manta_common.bus.protocol import Batch, Bus, Message
from manta_common.errors import Retry, Unreachable
from manta_common.feed import number
from manta_common.keys import Key
from manta_watcher.desk import Desk, Record
from manta_watcher.lines import Line, Something
from manta_watcher.outbox import Outbox
from manta_watcher.roots import Place
from manta_watcher.tally import Tally

LOOK_SECONDS = 3.0
log = logging.getLogger(__name__)


class StreamReplaced(Unreachable):
    """The stream had to be read anew: what is known of it may be wrong."""


class Standing:
    """Tells the desk and the outbox what stands in the stream, and ends the reign when that is no longer so."""

    def __init__(self, desk: Desk, outbox: Outbox, lines: Sequence[Line], tally: Tally) -> None:
        self._desk, self._outbox, self._lines, self._tally = desk, outbox, lines, tally
        words = {line.watched.kind.name for line in lines}
        self._channels = {word: Channel(word, Something) for word in words}

    async def read(self, batches: AsyncIterator[Batch]) -> None:
        """Read what stands there from before; StreamReplaced when the reading had to begin anew."""
        begun = False
        async for batch in batches:
            if begun and batch.fresh:
                raise StreamReplaced("the stream was lost while it was read")
            begun = True
            for message in batch.messages:
                self._recall(message)
            if batch.caught_up:
                return

    async def guard(self, batches: AsyncIterator[Batch]) -> None:
        """Go on reading, to notice when the reading had to begin anew and when somebody else writes."""
        async for batch in batches:
            if batch.fresh:
                raise StreamReplaced("the stream was lost or replaced")
            for message in batch.messages:
                self._outbox.check(message)

    async def look_after(self, bus: Bus) -> None:
        """Notice when the stream was emptied: nobody who reads it is told."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._outbox.forget_expired()
            try:
                stream = await bus.state()
            except Retry as error:
                log.debug("stream cannot be looked at", extra={"error": str(error)})
                continue
            if self._outbox.is_missing_from(stream):
                raise StreamReplaced("the stream has lost something that was in it")

    def _recall(self, message: Message) -> None:
        """Remember one message; one that cannot be read counts as an object that nobody has seen yet."""
        self._outbox.stands(message.subject, message.sequence)
        try:
            word = word_of(message.subject)
            spot, key = self._channels[word].parse(message.subject)
        except Poison as error:
            self._tell_of(message, error)
            return
        uid, version = "", 0
        try:
            _, state = self._channels[word].read(message)
            if state.object is None:
                self._outbox.buried(message.subject, seconds=self._desk.tombstone_seconds)
                return
            uid, version = state.uid, number(state.version)
        except (Poison, ValueError) as error:
            self._tell_of(message, error)
        self._desk.recall(Place(word, key), Record(spot, uid, version, self._bits(word, key)))

    def _tell_of(self, message: Message, error: Exception) -> None:
        self._tally.unreadable += 1
        log.error("message cannot be read", extra={"subject": message.subject, "error": str(error)})

    def _bits(self, kind: str, key: Key) -> int:
        """The scopes that might show an object."""
        found = (line for line in self._lines if line.watched.kind.name == kind)
        return sum(line.bit for line in found if line.scope.namespace in ("", key.namespace))
