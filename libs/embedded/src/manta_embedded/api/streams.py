"""Watches over HTTP: changes as lines of JSON, many at a time, with bookmarks in between."""

import asyncio
import contextlib
import random
from collections.abc import Mapping

import msgspec
from aiohttp import web

from manta_embedded.api.asked import Asked
from manta_embedded.api.calls import query_of
from manta_embedded.api.forms import Forms
from manta_embedded.api.media import Wanted
from manta_embedded.store import bodies, errors
from manta_embedded.store.buckets import Line, Watch
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store

BOOKMARK_SECONDS, FAREWELL_SECONDS = 60.0, 2.0
LEAST_SECONDS = 1800  # how long a watch lasts that does not say so, at least; at most twice as long
INITIAL_END = "k8s.io/initial-events-end"
JSON = "application/json"


class Streams:
    """Serves watches until the server stops."""

    def __init__(self, store: Store, forms: Forms) -> None:
        self._store, self._forms = store, forms
        self._open: set[asyncio.Event] = set()
        self._stopping = False

    def stop(self) -> None:
        """End all watches in good order."""
        self._stopping = True
        for woken in self._open:
            woken.set()

    async def serve(self, request: web.BaseRequest, served: Served, asked: Asked, wanted: Wanted) -> web.StreamResponse:
        """Answer one watch."""
        query = request.rel_url.query
        initial = _initial(query)
        since = _since(query, initial, self._store.version)
        try:
            watch = self._store.watch(served.kind, query_of(asked, query), since=since)
        except errors.StatusError as error:
            if error.code != 410:
                raise
            return await _refused(request, error)
        response = web.StreamResponse(headers={"Content-Type": JSON, "Cache-Control": "no-cache, private"})
        response.enable_chunked_encoding()
        lines = _Lines(self._forms, served, wanted, query.get("includeObject", ""))
        woken = asyncio.Event()
        self._open.add(woken)
        try:
            await response.prepare(request)
            with contextlib.suppress(ConnectionError):
                await self._stream(response, watch, woken, lines, _Plan(query, initial))
        finally:
            self._open.discard(woken)
            watch.close()
        return response

    async def _stream(
        self, response: web.StreamResponse, watch: Watch, woken: asyncio.Event, lines: "_Lines", plan: "_Plan"
    ) -> None:
        watch.wake = woken.set
        now = asyncio.get_running_loop().time
        plan.begin(now())
        if plan.initial:
            found = [lines.line(line) for line in watch.pending()]
            await response.write(b"".join((*found, lines.bookmark(self._store.version, initial_end=True))))
        while now() < plan.ends_at and not self._stopping:
            woken.clear()
            pending = watch.pending()
            if pending:
                await response.write(b"".join([lines.line(line) for line in pending]))
            if woken.is_set():
                continue
            if plan.bookmarks and now() >= plan.bookmark_at:
                await response.write(lines.bookmark(self._store.version))
                plan.next_bookmark(now())
            await _until(woken, plan.wake_at() - now())


class _Plan:
    """When a watch ends, and when it has bookmarks."""

    def __init__(self, query: Mapping[str, str], initial: bool) -> None:
        self.initial = initial
        self.bookmarks = query.get("allowWatchBookmarks") in ("true", "1") or initial
        given = query.get("timeoutSeconds", "")
        self._seconds = int(given) if given.isdigit() and int(given) else LEAST_SECONDS * random.uniform(1, 2)
        self.ends_at = self.bookmark_at = 0.0

    def begin(self, now: float) -> None:
        self.ends_at = now + self._seconds
        self.next_bookmark(now)

    def next_bookmark(self, now: float) -> None:
        farewell_at = self.ends_at - FAREWELL_SECONDS
        self.bookmark_at = min(now + BOOKMARK_SECONDS, farewell_at) if now < farewell_at else float("inf")

    def wake_at(self) -> float:
        return min(self.ends_at, self.bookmark_at) if self.bookmarks else self.ends_at


class _Lines:
    """Makes lines of changes, in the form that was asked for."""

    def __init__(self, forms: Forms, served: Served, wanted: Wanted, include: str) -> None:
        self._forms, self._served, self._wanted, self._include = forms, served, wanted, include
        self._first = True

    def line(self, line: Line) -> bytes:
        seen, obj = line
        return b'{"type":"%s","object":%s}\n' % (seen.encode(), self._object(obj))

    def bookmark(self, version: int, *, initial_end: bool = False) -> bytes:
        kind = self._served.kind
        meta: Obj = {"resourceVersion": str(version), "creationTimestamp": None}
        if initial_end:
            meta["annotations"] = {INITIAL_END: "true"}
        obj: Obj = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
        if self._wanted.form == "partial":
            obj |= {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        if self._wanted.form == "table":
            inner = {**obj, "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
            rows = [{"cells": [], "object": inner}]
            obj = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": str(version)}}
            obj |= {"columnDefinitions": None, "rows": rows}
        return b'{"type":"BOOKMARK","object":%s}\n' % bodies.encoded(obj)

    def _object(self, obj: Obj) -> bytes:
        match self._wanted.form:
            case "object":
                return self._forms.whole(obj)
            case "table":
                first, self._first = self._first, False
                return self._forms.row(self._served, obj, self._include, first=first)
        return self._forms.one(self._served, obj, self._wanted, self._include)


def _initial(query: Mapping[str, str]) -> bool:
    """Whether a watch is to begin with all objects and a bookmark after them."""
    wanted = query.get("sendInitialEvents")
    if wanted is None:
        return False
    if query.get("resourceVersionMatch") != "NotOlderThan":
        why = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise errors.StatusError(422, "Invalid", f'ListOptions.meta.k8s.io "" is invalid: {why}')
    return wanted in ("true", "1")


def _since(query: Mapping[str, str], initial: bool, newest: int) -> str:
    """After which version a watch tells changes; empty, or 0, has it begin with what there is."""
    if initial:
        return ""
    if "sendInitialEvents" in query and not query.get("resourceVersion"):
        return str(newest)
    return query.get("resourceVersion", "")


async def _refused(request: web.BaseRequest, error: errors.StatusError) -> web.StreamResponse:
    """A version that is forgotten is told in the stream, as the API server's cache does."""
    body = b'{"type":"ERROR","object":%s}\n' % msgspec.json.encode(error.status())
    return web.Response(body=body, content_type=JSON)


async def _until(woken: asyncio.Event, seconds: float) -> None:
    if seconds > 0:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await woken.wait()
