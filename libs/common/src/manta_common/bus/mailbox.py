"""One inbox for every answer on a connection: publishes and requests go out without waiting for each other."""

import asyncio
import itertools
from collections.abc import Mapping

import nats.aio.client
import nats.errors

from manta_common.bus.client import STATUS, Client, Delivery
from manta_common.bus.faults import NobodyThere, too_large
from manta_common.errors import Unreachable

NO_RESPONDERS = "503"
SWEEP_SECONDS = 0.05


class Mailbox:
    """Sends messages that ask for an answer, and gives each answer to whoever asked."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._prefix = ""
        self._tokens = itertools.count()
        self._waiting: dict[str, tuple[asyncio.Future[Delivery], float]] = {}
        self._sweeping: asyncio.TimerHandle | None = None
        self._ended = ""

    async def open(self) -> None:
        """Begin to receive, once the client is connected."""
        self._prefix = f"{self._client.new_inbox()}."
        await self._client.listen(f"{self._prefix}*", self._deliver)

    async def ask(
        self, subject: str, body: bytes, *, limit_seconds: float, headers: Mapping[str, str] | None = None
    ) -> Delivery:
        """Send, and wait for the answer; Unreachable when there is none in time or the connection is lost."""
        if self._ended:
            raise Unreachable(self._ended)
        token = str(next(self._tokens))
        answer: asyncio.Future[Delivery] = self._loop.create_future()
        self._waiting[token] = (answer, self._loop.time() + limit_seconds)
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(SWEEP_SECONDS, self._sweep)
        try:
            await post(self._client, subject, body, reply=f"{self._prefix}{token}", headers=headers)
            message = await answer
        except nats.errors.MaxPayloadError as error:
            raise too_large(subject) from error
        except TimeoutError as error:
            raise Unreachable(f"no answer from {subject} within {limit_seconds:g} s") from error
        except (nats.errors.Error, OSError) as error:
            raise Unreachable(f"{subject}: {error}") from error
        finally:
            del self._waiting[token]
        if message.raw_headers and not message.data and message.headers.get(STATUS) == NO_RESPONDERS:
            raise NobodyThere(f"nobody listens on {subject}")
        return message

    def end(self, why: str) -> None:
        """The connection is lost: nobody will answer any more."""
        self._ended = why
        for answer, _ in self._waiting.values():
            if not answer.done():
                answer.set_exception(Unreachable(why))
        if self._sweeping:
            self._sweeping.cancel()

    def _deliver(self, message: Delivery) -> None:
        found = self._waiting.get(message.subject.rpartition(".")[2])
        if found is not None and not found[0].done():
            found[0].set_result(message)

    def _sweep(self) -> None:
        """End the waits that took too long: one timer for all, for one each costs a quarter of a publish."""
        now = self._loop.time()
        for answer, deadline in self._waiting.values():
            if deadline <= now and not answer.done():
                answer.set_exception(TimeoutError())
        self._sweeping = self._loop.call_later(SWEEP_SECONDS, self._sweep) if self._waiting else None


async def post(
    client: nats.aio.client.Client, subject: str, body: bytes, *, reply: str, headers: Mapping[str, str] | None = None
) -> None:
    """Publish. The library swallows a cancellation while it waits for room in its buffer; here it is not lost."""
    task = asyncio.current_task()
    cancelled = task.cancelling() if task else 0
    await client.publish(subject, body, reply, headers)  # type: ignore[arg-type]
    if task and task.cancelling() > cancelled:
        raise asyncio.CancelledError
