"""One way to ask an API, plain JSON in and out, whether the real one answers or the store in memory."""

import contextlib
import json
import random
import select
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPSConnection
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube.protocol import Apply, JsonPatch, MergePatch, Patch
from manta_embedded.store import listing
from manta_embedded.store.admission_quota import Quotas
from manta_embedded.store.bodies import encoded
from manta_embedded.store.controllers.plane import Controllers
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.errors import StatusError
from manta_embedded.store.queries import Query
from manta_embedded.store.schema.custom import CustomResources
from manta_embedded.store.store import Store
from manta_embedded.store.writers import Writer
from tests.parts.cluster import ApiError, Cluster
from tests.parts.patience import patient

Obj = dict[str, Any]
T = TypeVar("T")
MANAGER = "contract"
LIMIT_SECONDS = 30.0
WATCH_SECONDS = 100
POLL_SECONDS = 0.05


class Api(Protocol):
    """What the suite asks of an API. A refusal is an ApiError with the `Status` that was answered."""

    def get(self, kind: Kind, key: Key, subresource: str = "") -> Obj:
        """GET of one object."""

    def list(self, kind: Kind, namespace: str = "", **query: str) -> Obj:
        """GET of a collection: labelSelector, fieldSelector, limit, continue, resourceVersion."""

    def create(self, kind: Kind, namespace: str, body: Obj) -> Obj:
        """POST."""

    def update(self, kind: Kind, key: Key, body: Obj, subresource: str = "") -> Obj:
        """PUT."""

    def patch(self, kind: Kind, key: Key, patch: Patch, subresource: str = "") -> Obj:
        """PATCH; an apply goes by its own manager, anything else by the suite's."""

    def delete(self, kind: Kind, key: Key, **options: Any) -> None:
        """DELETE with options as in DeleteOptions."""

    def watch(self, kind: Kind, namespace: str, since: str, count: int, **query: str) -> Sequence[Obj]:
        """The next so many lines of a watch that are no bookmarks."""

    def eventually(self, what: str, find: Callable[[], T | None], limit_seconds: float = LIMIT_SECONDS) -> T:
        """What `find` finds, once it does; the controllers of the API work meanwhile."""


class RealApi:
    """The API of a cluster, over one kept connection."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._connection = self._connect()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def get(self, kind: Kind, key: Key, subresource: str = "") -> Obj:
        return self._ask("GET", kind.object_path(key, subresource))

    def list(self, kind: Kind, namespace: str = "", **query: str) -> Obj:
        return self._ask("GET", kind.path(namespace), query=query)

    def create(self, kind: Kind, namespace: str, body: Obj) -> Obj:
        return self._ask("POST", kind.path(namespace), body, query={"fieldManager": MANAGER})

    def update(self, kind: Kind, key: Key, body: Obj, subresource: str = "") -> Obj:
        return self._ask("PUT", kind.object_path(key, subresource), body, query={"fieldManager": MANAGER})

    def patch(self, kind: Kind, key: Key, patch: Patch, subresource: str = "") -> Obj:
        path = kind.object_path(key, subresource)
        match patch:
            case Apply():
                query = {"fieldManager": patch.manager, "force": str(patch.force).lower()}
                return self._ask("PATCH", path, patch.body, query=query, form="apply-patch+yaml")
            case JsonPatch():
                return self._ask(
                    "PATCH", path, [*patch.operations], query={"fieldManager": MANAGER}, form="json-patch+json"
                )
            case MergePatch():
                return self._ask("PATCH", path, patch.body, query={"fieldManager": MANAGER}, form="merge-patch+json")

    def delete(self, kind: Kind, key: Key, **options: Any) -> None:
        self._ask("DELETE", kind.object_path(key), {"kind": "DeleteOptions", "apiVersion": "v1", **options})

    def watch(self, kind: Kind, namespace: str, since: str, count: int, **query: str) -> Sequence[Obj]:
        asked = urlencode({"watch": "true", "resourceVersion": since, "timeoutSeconds": str(WATCH_SECONDS), **query})
        with contextlib.closing(self._connect()) as connection:
            connection.request("GET", f"{kind.path(namespace)}?{asked}", headers=self._headers())
            answer = connection.getresponse()
            if answer.status >= 300:
                raise ApiError(answer.status, _read(answer.read()))
            return [json.loads(answer.readline()) for _ in range(count)]

    def eventually(self, what: str, find: Callable[[], T | None], limit_seconds: float = LIMIT_SECONDS) -> T:
        deadline = time.monotonic() + patient(limit_seconds)
        while (found := find()) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {patient(limit_seconds):g} s: {what}")
            time.sleep(POLL_SECONDS)
        return found

    def _ask(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, str] | None = None, form: str = "json"
    ) -> Obj:
        asked = f"{path}?{urlencode(query)}" if query else path
        self._renew_if_closed()
        self._connection.request(method, asked, None if body is None else json.dumps(body), self._headers(form))
        answer = self._connection.getresponse()
        found = _read(answer.read())
        if answer.status >= 300:
            raise ApiError(answer.status, found)
        return found

    def _renew_if_closed(self) -> None:
        """A server closes connections on which nothing was said for long; before a question it says nothing itself."""
        if self._connection.sock and select.select([self._connection.sock], [], [], 0)[0]:
            self._connection.close()

    def _connect(self) -> HTTPSConnection:
        address = urlsplit(self._cluster.server)
        return HTTPSConnection(
            address.hostname or "", address.port, context=self._cluster.tls, timeout=patient(LIMIT_SECONDS)
        )

    def _headers(self, form: str = "json") -> dict[str, str]:
        return {"Authorization": f"Bearer {self._cluster.token}", "Content-Type": f"application/{form}"}


class HandClock:
    """A clock that is moved by hand; nobody sleeps by it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError("nothing in the store sleeps")

    def timeout(self, seconds: float) -> Any:
        raise NotImplementedError("nothing in the store waits")


class EmbeddedApi:
    """The store with its controllers, in a time of its own."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.store = Store(self.clock, random.Random(0))
        self.store.admissions += [CustomResources(), Quotas(self.store)]
        self._controllers = Controllers(self.store)

    def get(self, kind: Kind, key: Key, subresource: str = "") -> Obj:
        return self._ask(lambda: self.store.get(kind, key, subresource=subresource))

    def list(self, kind: Kind, namespace: str = "", **query: str) -> Obj:
        asked = Query(
            namespace=namespace,
            labels=query.get("labelSelector", ""),
            fields=query.get("fieldSelector", ""),
            limit=int(query.get("limit", "0")),
            next=query.get("continue", ""),
            version=query.get("resourceVersion", ""),
            exact=query.get("resourceVersionMatch") == "Exact",
        )
        return self._ask(lambda: listing.document(self.store.registry.find(kind), self.store.list(kind, asked)))

    def create(self, kind: Kind, namespace: str, body: Obj) -> Obj:
        return self._ask(lambda: self.store.create(kind, namespace, _owned(body), Writer(MANAGER)))

    def update(self, kind: Kind, key: Key, body: Obj, subresource: str = "") -> Obj:
        return self._ask(lambda: self.store.update(kind, key, _owned(body), Writer(MANAGER), subresource=subresource))

    def patch(self, kind: Kind, key: Key, patch: Patch, subresource: str = "") -> Obj:
        return self._ask(lambda: self.store.patch(kind, key, patch, Writer(MANAGER), subresource=subresource))

    def delete(self, kind: Kind, key: Key, **options: Any) -> None:
        preconditions = options.get("preconditions") or {}
        asked = Deletion(
            uid=preconditions.get("uid", ""),
            version=preconditions.get("resourceVersion", ""),
            grace_seconds=options.get("gracePeriodSeconds"),
            propagation=options.get("propagationPolicy", ""),
        )
        self._ask(lambda: self.store.delete(kind, key, asked))

    def watch(self, kind: Kind, namespace: str, since: str, count: int, **query: str) -> Sequence[Obj]:
        asked = Query(namespace=namespace, labels=query.get("labelSelector", ""), fields=query.get("fieldSelector", ""))
        watch = self._ask_for(lambda: self.store.watch(kind, asked, since=since))
        lines = watch.pending()[:count]
        watch.close()
        return [{"type": seen, "object": _plain(obj)} for seen, obj in lines]

    def eventually(self, what: str, find: Callable[[], T | None], limit_seconds: float = LIMIT_SECONDS) -> T:
        deadline = self.clock.seconds + limit_seconds
        self._controllers.settle()
        while (found := find()) is None:
            if self.clock.seconds > deadline:
                raise TimeoutError(f"not within {limit_seconds:g} s: {what}")
            self.clock.seconds += POLL_SECONDS
            self._controllers.settle()
        return found

    def _ask(self, act: Callable[[], Obj]) -> Obj:
        return _plain(self._ask_for(act))

    def _ask_for(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except StatusError as error:
            raise ApiError(error.code, _plain(error.status())) from error


def _read(text: bytes) -> Obj:
    found: Obj = json.loads(text) if text.startswith(b"{") else {"message": text.decode()}
    return found


def _owned(body: Obj) -> Obj:
    """A body that is shared with nobody."""
    found: Obj = json.loads(json.dumps(body))
    return found


def _plain(obj: Obj) -> Obj:
    return msgspec.json.decode(encoded(obj), type=dict[str, Any])
