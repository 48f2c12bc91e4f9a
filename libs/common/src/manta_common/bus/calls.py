"""Answering calls as a NATS micro service, so that `nats micro` finds it and tells how it does.

The library has such a service too, but it answers one call at a time: a call that hangs would hold up all others.
https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-32.md
"""

import asyncio
import functools
import logging
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from manta_common.bus.channel import call_subject
from manta_common.bus.faults import error_headers, too_large, translated
from manta_common.bus.jetstream import own_headers
from manta_common.bus.life import Life
from manta_common.bus.mailbox import post
from manta_common.bus.protocol import Answer
from manta_common.clock import Clock
from manta_common.errors import MantaError, Throttled

QUEUE = "q"  # the micro protocol's usual name: replicas share the calls
ANSWER_LIMIT_SECONDS = 120.0
AT_ONCE = 512
RETRY_AFTER_SECONDS = 0.5
FLUSH_LIMIT_SECONDS = 5

log = logging.getLogger(__name__)


class Endpoint:
    """One verb, and how often it was asked."""

    def __init__(self, service: str, verb: str, answer: Answer) -> None:
        self.verb, self.subject, self.answer = verb, call_subject(service, verb), answer
        self.requests, self.errors, self.last_error, self.seconds = 0, 0, "", 0.0

    def failed(self, error: BaseException) -> dict[str, str]:
        """Count an error; the headers that tell of it."""
        self.errors += 1
        self.last_error = f"{type(error).__name__}: {error}"
        if not isinstance(error, MantaError):
            log.error("an answer failed in a way nobody thought of", extra={"verb": self.verb}, exc_info=error)
        return error_headers(error)

    def described(self) -> dict[str, object]:
        """As `nats micro info` shows it."""
        return {"name": self.verb, "subject": self.subject, "queue_group": QUEUE, "metadata": {}}

    def counted(self) -> dict[str, object]:
        """As `nats micro stats` shows it."""
        nanoseconds = round(self.seconds * 1e9)
        return {
            "name": self.verb,
            "subject": self.subject,
            "queue_group": QUEUE,
            "num_requests": self.requests,
            "num_errors": self.errors,
            "last_error": self.last_error,
            "processing_time": nanoseconds,
            "average_processing_time": nanoseconds // max(self.requests, 1),
        }


class MicroService:
    """Answers the verbs of one service on every life of the connection."""

    def __init__(self, name: str, verbs: Mapping[str, Answer], *, tasks: asyncio.TaskGroup, clock: Clock) -> None:
        self._name, self._tasks, self._clock = name, tasks, clock
        self._endpoints = [Endpoint(name, verb, answer) for verb, answer in verbs.items()]
        self._id = secrets.token_hex(11)
        self._started_at = datetime.now(UTC)
        self._running: set[asyncio.Task[None]] = set()

    async def listen(self, life: Life) -> None:
        """Begin to answer on a new life of the connection."""
        client = life.client
        with translated(f"serving {self._name}"):
            for endpoint in self._endpoints:
                asked = functools.partial(self._asked, client, endpoint)
                await client.subscribe(endpoint.subject, queue=QUEUE, cb=asked)
            for verb in ("PING", "INFO", "STATS"):
                described = functools.partial(self._described, client, verb.lower())
                for place in (verb, f"{verb}.{self._name}", f"{verb}.{self._name}.{self._id}"):
                    await client.subscribe(f"$SRV.{place}", cb=described)
            await client.flush(FLUSH_LIMIT_SECONDS)  # `subscribe` alone does not wait until the server knows

    def stop(self) -> None:
        """Give up the answers that are under way."""
        for answering in self._running:
            answering.cancel()

    async def _asked(self, client: Client, endpoint: Endpoint, question: Msg) -> None:
        endpoint.requests += 1
        if len(self._running) >= AT_ONCE:
            busy = Throttled(f"{AT_ONCE} calls are under way", retry_after_seconds=RETRY_AFTER_SECONDS)
            await _send(client, question, b"", endpoint.failed(busy))
        else:
            answering = self._tasks.create_task(self._answer(client, endpoint, question))
            self._running.add(answering)
            answering.add_done_callback(self._running.discard)

    async def _answer(self, client: Client, endpoint: Endpoint, question: Msg) -> None:
        began = self._clock.monotonic()
        [outcome] = await asyncio.gather(self._ask(endpoint, question), return_exceptions=True)
        endpoint.seconds += self._clock.monotonic() - began
        if isinstance(outcome, BaseException):
            await _send(client, question, b"", endpoint.failed(outcome))
        elif len(outcome) > client.max_payload:
            await _send(client, question, b"", endpoint.failed(too_large(endpoint.subject)))
        else:
            await _send(client, question, outcome, None)

    async def _ask(self, endpoint: Endpoint, question: Msg) -> bytes:
        async with self._clock.timeout(ANSWER_LIMIT_SECONDS):
            return await endpoint.answer(question.data, own_headers(question.headers))

    async def _described(self, client: Client, verb: str, question: Msg) -> None:
        about: dict[str, object] = {
            "type": f"io.nats.micro.v1.{verb}_response",
            "name": self._name,
            "id": self._id,
            "version": version("manta-common"),
            "metadata": {},
        }
        if verb == "info":
            about |= {"description": "", "endpoints": [endpoint.described() for endpoint in self._endpoints]}
        elif verb == "stats":
            about |= {"started": self._started_at, "endpoints": [endpoint.counted() for endpoint in self._endpoints]}
        await _send(client, question, msgspec.json.encode(about), None)


async def _send(client: Client, question: Msg, body: bytes, headers: dict[str, str] | None) -> None:
    if not question.reply:
        return
    try:
        await post(client, question.reply, body, reply="", headers=headers)
    except (nats.errors.Error, OSError) as error:
        log.warning("an answer could not be sent", extra={"error": str(error)})
