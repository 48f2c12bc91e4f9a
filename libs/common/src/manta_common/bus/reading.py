"""One consumer of a stream, from its making to the first doubt."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import msgspec
import nats.errors
from nats.aio.subscription import Subscription

from manta_common.bus.client import DESCRIPTION, STATUS, Delivery
from manta_common.bus.faults import translated
from manta_common.bus.jetstream import Reply, call, next_sequence, own_headers
from manta_common.bus.life import Life
from manta_common.bus.mailbox import post
from manta_common.bus.protocol import Batch, Message
from manta_common.bus.stream import stream_state
from manta_common.errors import MantaError, Unreachable

PULL_SUBJECT = "$JS.API.CONSUMER.MSG.NEXT"
PULL = 1024  # messages asked for at once; two such pulls are open, so that the server need not wait for the next
BATCH = 512  # messages passed on at once, at most
OVERHEAD = 64 * 1024  # subject and headers of the largest message
EXPIRES_SECONDS = 30
HEARTBEAT_SECONDS = 2
SILENCE_SECONDS = 5.0  # then the consumer is dead, though nobody said so
INACTIVE_SECONDS = 30  # then the server forgets a consumer that nobody pulls from
LATE_SECONDS = 0.001  # uvloop rounds times to milliseconds: an alarm that rang too early would ring again and again
NANOSECONDS = 1_000_000_000

STILL_OWED = "Nats-Pending-Messages"
HEARTBEAT = "100"
PULL_OVER = {"404", "408", "409"}
CONSUMER_OVER = ("deleted", "shutdown", "leadership", "push based")


class Consumer(Reply, frozen=True, kw_only=True):
    """A consumer as it is."""

    name: str = ""
    num_pending: int = 0


class Reading:
    """Batches of one consumer, in order; Unreachable at the first doubt."""

    def __init__(self, life: Life, stream: str, subjects: Sequence[str]) -> None:
        self._life, self._stream, self._subjects = life, stream, list(subjects)
        self._inbox = life.client.new_inbox()
        self._buffer: list[Delivery] = []
        self._waiter: asyncio.Future[None] | None = None  # of whoever waits for a message
        self._heard_at = 0.0
        self._consumer = ""
        self._subscription: Subscription | None = None
        self._forget_life: Callable[[], None] | None = None
        self._delivered, self._sequence = 0, 0  # how many messages were passed on, and which was the last
        self._owed = 0  # messages that the open pulls may still bring
        self._target = 0  # the last sequence of the stream when the reading began
        self._exhausted = False  # the consumer has nothing more at the moment
        self._fresh, self._caught_up = True, False

    async def begin(self) -> None:
        """Make the consumer and ask for its first messages."""
        self._forget_life = self._life.on_loss(self._wake)
        with translated(f"reading {self._stream}"):
            self._subscription = await self._life.client.listen(self._inbox, self._receive, calm=True)
        made = await call(self._life, f"CONSUMER.CREATE.{self._stream}", self._wanted(), type_=Consumer)
        self._consumer, self._exhausted = made.name, made.num_pending == 0
        self._target = (await stream_state(self._life, self._stream)).last
        await self._pull()
        self._heard_at = _now()

    async def next(self, limit_seconds: float) -> Batch | None:
        """The next batch, or None when nothing came within the limit."""
        until = _now() + limit_seconds
        while True:
            if self._caught_up or not self._exhausted:
                await self._wait(until)
            messages = self._taken()
            await self._pull()
            if await self._completed() or messages:
                return self._batch(messages)
            if _now() >= until:
                return None

    async def end(self) -> None:
        """Stop reading; the server is told if that can be."""
        if self._forget_life:
            self._forget_life()
        if not self._life.alive:
            return
        with contextlib.suppress(MantaError, nats.errors.Error, OSError):
            if self._subscription:
                await self._life.client.leave(self._subscription)
            if self._consumer:
                await call(self._life, f"CONSUMER.DELETE.{self._stream}.{self._consumer}", None, type_=Reply)

    def _wanted(self) -> dict[str, object]:
        config = {
            "deliver_policy": "last_per_subject",
            "ack_policy": "none",
            "filter_subjects": self._subjects,
            "inactive_threshold": INACTIVE_SECONDS * NANOSECONDS,
            "mem_storage": True,
            "num_replicas": 1,
        }
        return {"stream_name": self._stream, "config": config}

    def _receive(self, message: Delivery) -> None:
        self._buffer.append(message)
        self._heard_at = _now()
        self._wake()

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait(self, until: float) -> None:
        """Until something arrived, or the time is over; Unreachable when there was silence for too long."""
        while not self._buffer:
            if not self._life.alive:
                raise Unreachable("the connection to NATS was lost")
            now, silent_at = _now(), self._heard_at + SILENCE_SECONDS
            if now >= silent_at:
                raise Unreachable(f"nothing was heard of a consumer for {SILENCE_SECONDS:g} s")
            if now >= until:
                return
            await self._rest(min(until, silent_at))

    async def _rest(self, until: float) -> None:
        """Until something arrives or a moment comes. A timeout and an event would cost more than to read a message."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        alarm = loop.call_at(until + LATE_SECONDS, self._wake)
        try:
            await self._waiter
        finally:
            alarm.cancel()
            self._waiter = None

    def _taken(self) -> tuple[Message, ...]:
        taken = self._buffer[:BATCH]
        del self._buffer[:BATCH]
        self._heard_at = _now()  # whoever reads slowly does not hear silence
        return tuple([self._message(one) for one in taken if one.reply or self._note(one)])

    def _message(self, one: Delivery) -> Message:
        # $JS.ACK.<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer sequence>.<time>.<pending>, and with
        # a domain and an account hash before the stream in the longer form.
        fields = one.reply.split(".")
        start = 5 if len(fields) == 9 else 7
        try:
            sequence, place, pending = int(fields[start]), int(fields[start + 1]), int(fields[start + 3])
        except (ValueError, IndexError) as error:
            raise Unreachable(f"a message that no consumer sent came to one: {one.subject}") from error
        self._delivered += 1
        if place != self._delivered:
            raise Unreachable(f"message {self._delivered} of a consumer is missing: {place} came")
        self._owed -= 1
        self._sequence, self._exhausted = sequence, pending == 0
        return Message(subject=one.subject, body=one.data, sequence=sequence, headers=own_headers(one.headers))

    def _note(self, status: Delivery) -> bool:
        """Take note of a message that is only a status, and pass nothing on."""
        headers = status.headers
        code, text = headers.get(STATUS, ""), headers.get(DESCRIPTION, "").lower()
        if code == HEARTBEAT:
            self._exhausted = True
        elif code in PULL_OVER and not any(word in text for word in CONSUMER_OVER):
            owed = headers.get(STILL_OWED, "0")
            self._owed -= int(owed) if owed.isdecimal() else 0
        else:
            raise Unreachable(f"a consumer has ended: {code} {text}")
        return False

    async def _pull(self) -> None:
        while self._owed <= PULL:
            self._owed += PULL
            with translated(f"reading {self._stream}"):
                subject = f"{PULL_SUBJECT}.{self._stream}.{self._consumer}"
                await post(self._life.client, subject, self._request(), reply=self._inbox)

    def _request(self) -> bytes:
        return msgspec.json.encode(
            {
                "batch": PULL,
                "max_bytes": self._life.client.max_payload + OVERHEAD,
                "expires": EXPIRES_SECONDS * NANOSECONDS,
                "idle_heartbeat": HEARTBEAT_SECONDS * NANOSECONDS,
            }
        )

    async def _completed(self) -> bool:
        """Whether only now everything that was there when the reading began has been passed on.

        A consumer may live on a replica that is behind, so when it has nothing more, the stream's leader is asked.
        """
        if self._caught_up:
            return False
        if self._sequence < self._target:
            if not self._exhausted:
                return False
            self._exhausted = False
            ahead = await asyncio.gather(
                *(next_sequence(self._life, self._stream, one, after=self._sequence) for one in self._subjects)
            )
            if any(sequence is not None and sequence <= self._target for sequence in ahead):
                return False
        self._caught_up = True
        return True

    def _batch(self, messages: tuple[Message, ...]) -> Batch:
        batch = Batch(messages=messages, fresh=self._fresh, caught_up=self._caught_up)
        self._fresh = False
        return batch


def _now() -> float:
    return asyncio.get_running_loop().time()
