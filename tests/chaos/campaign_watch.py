"""Follows what comes and goes in a real API server, by watches of its own that no fault touches."""

import asyncio
import json
import threading
from collections import Counter, defaultdict
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

import aiohttp

from manta_common.kinds import Kind
from tests.parts.cluster import Cluster
from tests.parts.patience import patient
from tests.parts.process import wait_until

CALL_LIMIT_SECONDS = 10.0
WATCH_SECONDS = 3600
LINE_BYTES = 2**22
T = TypeVar("T")


class Book:
    """How many objects came and went in each namespace since it was opened, or since the namespace began anew."""

    def __init__(self, cluster: Cluster, kinds: Iterable[Kind]) -> None:
        self._cluster, self._kinds = cluster, tuple(kinds)
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._living: defaultdict[str, set[str]] = defaultdict(set)
        self._over: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._session: aiohttp.ClientSession | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="book", daemon=True)

    def open(self) -> None:
        """Begin to follow."""
        self._thread.start()
        self._call(self._open())

    def close(self) -> None:
        """End every watch."""
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(patient(CALL_LIMIT_SECONDS))
        self._loop.close()

    def begin(self, namespace: str) -> None:
        """Count anew from here, once all that has happened was heard of."""
        self.lines(namespace)
        self._counts[namespace].clear()

    def lines(self, namespace: str) -> Counter[str]:
        """What came and went, once all that is there now was heard of."""
        wait_until(f"the watches tell all of {namespace}", lambda: self._is_heard(namespace), limit_seconds=30)
        return Counter(f"{count} {what}" for what, count in self._counts[namespace].items())

    def _is_heard(self, namespace: str) -> bool:
        assert not self._over, self._over
        lists = (self._cluster.request("GET", kind.path(namespace))["items"] for kind in self._kinds)
        return {one["metadata"]["uid"] for found in lists for one in found} == self._living[namespace]

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(patient(CALL_LIMIT_SECONDS))

    async def _open(self) -> None:
        connector = aiohttp.TCPConnector(ssl=self._cluster.tls, limit=0)
        headers = {"Authorization": f"Bearer {self._cluster.token}"}
        self._session = aiohttp.ClientSession(
            connector=connector, headers=headers, read_bufsize=LINE_BYTES, timeout=aiohttp.ClientTimeout(total=None)
        )
        for kind in self._kinds:
            async with self._session.get(f"{self._cluster.server}{kind.path()}") as answer:
                found = await answer.json()
            for one in found["items"]:
                self._living[one["metadata"]["namespace"]].add(one["metadata"]["uid"])
            self._tasks.append(asyncio.create_task(self._follow(kind, found["metadata"]["resourceVersion"])))

    async def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
        await asyncio.sleep(0)

    async def _follow(self, kind: Kind, version: str) -> None:
        assert self._session is not None
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(WATCH_SECONDS)}
        async with self._session.get(f"{self._cluster.server}{kind.path()}", params=query) as answer:
            async for line in answer.content:
                self._note(kind, json.loads(line))
        self._over.append(f"the watch of {kind.name} has ended")

    def _note(self, kind: Kind, event: dict[str, Any]) -> None:
        if event["type"] not in ("ADDED", "DELETED"):
            if event["type"] != "MODIFIED":
                self._over.append(str(event))
            return
        meta = event["object"]["metadata"]
        self._counts[meta["namespace"]][f"{kind.name} {event['type'].lower()}"] += 1
        living = self._living[meta["namespace"]]
        living.add(meta["uid"]) if event["type"] == "ADDED" else living.discard(meta["uid"])
