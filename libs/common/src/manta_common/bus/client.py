"""The client library's connection, with a short way for what Manta reads much of: no queue and no task a message."""

import logging
from collections.abc import Callable

import msgspec
import nats.aio.client
import nats.protocol.parser
from nats.aio.subscription import Subscription
from nats.protocol.parser import AWAITING_CONTROL_LINE

STATUS, DESCRIPTION = "Status", "Description"
LINE_END = b"\r\n"
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
        self._ps = Parser(self, self._receivers)

    async def listen(self, subject: str, receiver: Receiver) -> Subscription:
        """Have every message of a subject handed to a function, which must not fail nor take long."""
        subscription = await self.subscribe(subject)
        self._receivers[subscription._id] = receiver
        return subscription

    async def leave(self, subscription: Subscription) -> None:
        """Listen no more."""
        self._receivers.pop(subscription._id, None)
        await subscription.unsubscribe()

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

    def __init__(self, client: Client, receivers: dict[int, Receiver]) -> None:
        super().__init__(client)
        self._receivers = receivers

    async def parse(self, data: bytes = b"") -> None:
        """Take what has come from the server."""
        if self.state != AWAITING_CONTROL_LINE:
            await super().parse(data)
            return
        self.buf.extend(data)
        at, waits = self._delivered()
        del self.buf[:at]
        if self.buf and not waits:
            await super().parse()

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
