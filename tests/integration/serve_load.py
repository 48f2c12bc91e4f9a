"""Somebody who keeps asking: requests at a fixed pace, and what came back for each."""

import asyncio
import contextlib
import itertools
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import aiohttp
import msgspec

# So many may wait for their answer at once: a machine that cannot keep the pace is asked less, not refused by itself.
WAITING = 25
ANSWER_SECONDS = 600.0
Way = tuple[str, aiohttp.ClientSession]


class Answer(msgspec.Struct, frozen=True):
    """What came back for one request, or why nothing did."""

    sent_at: float
    word: str = ""
    release: str = ""
    failure: str = ""


class Load:
    """Requests at a fixed pace, whether or not those before have been answered.

    In turn to each address, by a new connection and by one that is kept. None is ever repeated: they are POSTs, which
    the client does not repeat by itself either.
    """

    def __init__(self, addresses: tuple[str, ...], *, per_second: int) -> None:
        self._addresses, self._pause = addresses, 1 / per_second
        self._room = asyncio.Semaphore(WAITING)
        self.answers: list[Answer] = []
        self.sent = 0

    @property
    def failures(self) -> list[str]:
        """What went wrong, and when it was sent."""
        start = min((one.sent_at for one in self.answers), default=0.0)
        return [f"after {one.sent_at - start:.2f} s: {one.failure}" for one in self.answers if one.failure]

    @property
    def releases(self) -> Counter[str]:
        """How many answers came from each release."""
        return Counter(one.release for one in self.answers if not one.failure)

    def latest(self) -> Answer:
        """The answer to what was sent last of all that is answered."""
        return max(self.answers, key=lambda one: one.sent_at, default=Answer(0.0))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Ask until the end of the block; then every answer is there."""
        limit = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        new, kept = aiohttp.TCPConnector(force_close=True, limit=0), aiohttp.TCPConnector(limit=0)
        async with (
            aiohttp.ClientSession(connector=new, timeout=limit) as once,
            aiohttp.ClientSession(connector=kept, timeout=limit) as again,
        ):
            asked: set[asyncio.Task[None]] = set()
            ways = itertools.cycle(itertools.product(self._addresses, (once, again)))
            pacing = asyncio.create_task(self._pace(ways, asked))
            try:
                yield
            finally:
                pacing.cancel()
                await asyncio.wait([pacing, *asked])

    async def _pace(self, ways: Iterator[Way], asked: set[asyncio.Task[None]]) -> None:
        due = time.monotonic()
        for way in ways:
            due = max(due + self._pause, time.monotonic() - 1.0)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await self._room.acquire()
            self.sent += 1
            task = asyncio.create_task(self._ask(*way))
            asked.add(task)
            task.add_done_callback(asked.discard)

    async def _ask(self, address: str, session: aiohttp.ClientSession) -> None:
        sent_at, found, failure = time.monotonic(), {}, ""
        try:
            async with session.post(address, data=b"hello?") as answer:
                text = await answer.text()
                if answer.status == 200:
                    found = json.loads(text)
                else:
                    failure = f"{answer.status}: {text[:200]}"
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            failure = f"{type(error).__name__}: {error}"
        finally:
            self._room.release()
        self.answers.append(Answer(sent_at, found.get("word", ""), found.get("release", ""), failure))
