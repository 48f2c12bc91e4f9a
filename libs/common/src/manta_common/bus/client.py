"""The client library's connection, with a short way for what Manta reads much of: no queue and no task a message."""

import asyncio
import logging
from collections.abc import Callable
from typing import cast

import msgspec
import nats.aio.client
import nats.protocol.parser
from nats.aio.subscription import Subscription
from nats.aio.transport import TcpTransport
from nats.protocol.parser import AWAITING_CONTROL_LINE

from manta_common.calm import rest

STATUS, DESCRIPTION = "Status", "Description"
LINE_END = b"\r\n"
# What is told one word at a time is read together, at most so often: a process that is woken for each word finds
# nothing of its own in the processor's caches, and takes several times as long for it.
PAUSE_SECONDS = 0.02
FLOOD_BYTES = 16 * 1024  # then there is more to read, and no pause
WITH_HEADERS, WITHOUT = b"HMSG ", b"MSG "

log = logging.getLogger(__name__)


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message as it came over the wire; its headers are read by whoever wants them."""

    subject: str
    reply: str
    data: bytes
    raw_headers: bytes = b""

    @property
    def headers(self) -> dict[str, str]:
        """The headers; of a message that is only a status, also its code and what it says."""
        if not self.raw_headers:
            return {}
        version, *lines = self.raw_headers.decode(errors="replace").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        found = {name.strip(): value.strip() for name, _, value in pairs}
        _, _, status = version.partition(" ")
        if status:
            code, _, text = status.partition(" ")
            found |= {STATUS: code, DESCRIPTION: text}
        return found


Receiver = Callable[[Delivery], None]


class Client(nats.aio.client.Client):
    """Hands a message to its receiver while it reads; all else goes the library's way.

    The library puts each message into a queue, wakes a task to take it out again, and reads headers letter by letter:
    most of what a service that only listens would do.
    """

    def __init__(self) -> None:
        super().__init__()
        self._receivers: dict[int, Receiver] = {}
        self._calm: set[int] = set()  # subscriptions of receivers that a short wait does not hurt
        self._ps = Parser(self, self._receivers, self._calm)

    async def listen(self, subject: str, receiver: Receiver, *, calm: bool = False) -> Subscription:
        """Have every message of a subject handed to a function, which must not fail nor take long.

        After messages of a `calm` one nothing is read for a moment, so that others may come together.
        """
        subscription = await self.subscribe(subject)
        self._receivers[subscription._id] = receiver
        if calm:
            self._calm.add(subscription._id)
        return subscription

    async def leave(self, subscription: Subscription) -> None:
        """Listen no more."""
        self._receivers.pop(subscription._id, None)
        self._calm.discard(subscription._id)
        await subscription.unsubscribe()

    async def rest(self) -> None:
        """Read nothing for a moment."""
        writer = self._transport._io_writer if isinstance(self._transport, TcpTransport) else None
        if writer is not None:
            await rest(cast("asyncio.ReadTransport", writer.transport), PAUSE_SECONDS)  # it reads and writes

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        """A message that the library has read: one that was cut in two behind something else."""
        receiver = self._receivers.get(sid)
        if receiver is not None:
            receiver(Delivery(_text(subject), _text(reply), data, headers or b""))
            return
        try:
            await super()._process_msg(sid, subject, reply, data, headers)
        except (ValueError, IndexError) as error:  # the library would stop reading, and nobody would be told
            log.warning("message cannot be read", extra={"subject": _text(subject), "error": str(error)})


class Parser(nats.protocol.parser.Parser):
    """Reads the messages of receivers itself, and leaves all other lines to the library."""

    def __init__(self, client: Client, receivers: dict[int, Receiver], calm: set[int]) -> None:
        super().__init__(client)
        self._client, self._receivers, self._calm = client, receivers, calm
        self._is_calm = False  # whether a message of a calm receiver was among the last

    async def parse(self, data: bytes = b"") -> None:
        """Take what has come from the server."""
        if self.state != AWAITING_CONTROL_LINE:
            await super().parse(data)
            return
        self._is_calm = False
        self.buf.extend(data)
        at, waits = self._delivered()
        del self.buf[:at]
        if self.buf and not waits:
            await super().parse()
        elif self._is_calm and not self.buf and len(data) < FLOOD_BYTES:
            await self._client.rest()

    def _delivered(self) -> tuple[int, bool]:
        """How far the buffer holds whole messages of receivers, and whether one follows that is not whole yet."""
        buffer, at = self.buf, 0
        while buffer.startswith((WITH_HEADERS, WITHOUT), at):
            end = buffer.find(LINE_END, at)
            if end < 0:
                return at, True
            line = Line(bytes(buffer[at:end]))
            receiver = self._receivers.get(line.sid)
            if receiver is None:
                return at, False
            start = end + len(LINE_END)
            body, stop = start + line.headers, start + line.size
            if len(buffer) < stop + len(LINE_END):
                return at, True
            receiver(Delivery(line.subject, line.reply, bytes(buffer[body:stop]), bytes(buffer[start:body])))
            self._is_calm = self._is_calm or line.sid in self._calm
            at = stop + len(LINE_END)
        return at, False


class Line:
    """What stands before a message: `MSG <subject> <sid> [reply] <size>`, or `HMSG` and the size of the headers too.

    The server takes subjects of any bytes but spaces, tabs and ends of lines; what is no text is replaced.
    """

    __slots__ = ("headers", "reply", "sid", "size", "subject")

    def __init__(self, line: bytes) -> None:
        verb, subject, sid, *rest = line.split(b" ")
        self.subject, self.sid, self.size = _text(subject), int(sid), int(rest[-1])
        sizes = 2 if verb == b"HMSG" else 1
        self.headers = int(rest[-2]) if sizes == 2 else 0
        self.reply = _text(rest[0]) if len(rest) > sizes else ""


def _text(name: bytes) -> str:
    return name.decode(errors="replace")
