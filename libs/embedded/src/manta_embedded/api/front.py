"""The front of the API: who asks, what for, whether it may, and who answers."""

from collections.abc import Callable

import msgspec
from aiohttp import web

from manta_common.keys import Key
from manta_embedded.api import media
from manta_embedded.api.asked import PROXY, Asked, asked
from manta_embedded.api.calls import Calls, Given, not_allowed
from manta_embedded.api.discovery import Discovery
from manta_embedded.api.forms import Forms
from manta_embedded.api.machine import Node
from manta_embedded.api.media import PLAIN, Wanted
from manta_embedded.api.pods import Pods
from manta_embedded.api.proxying import Proxy
from manta_embedded.api.reviews import REVIEWS, TOKENREQUEST, Reviews
from manta_embedded.api.rights import Rights
from manta_embedded.api.streams import Streams
from manta_embedded.api.tables import Tables
from manta_embedded.api.users import ANONYMOUS, AUTHENTICATED, Tokens, User, account_user
from manta_embedded.store import errors, subresources
from manta_embedded.store.bodies import encoded
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store

JSON = "application/json"
WRITES = ("create", "update", "patch", "delete", "deletecollection")
POD_STREAMS = ("log", "exec", "attach", "portforward")
PROXIED = ("pods", "services")
READY = ("/healthz", "/livez", "/readyz")
HEADERS = {"Content-Type": JSON, "Cache-Control": "no-cache, private"}


class Front:
    """Answers requests over a store."""

    def __init__(self, store: Store, tokens: Tokens, node: Callable[[], Node]) -> None:
        self.forms = Forms(Tables(store.now))
        self._store, self._tokens, self._rights = store, tokens, Rights(store)
        self._calls, self._streams = Calls(store, self.forms), Streams(store, self.forms)
        self._reviews = Reviews(store, self._rights, tokens)
        self._discovery = Discovery(store)
        self._pods = Pods(store, node)
        self._proxy = Proxy(store)

    def stop(self) -> None:
        """End what would go on for ever."""
        self._streams.stop()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to a request, whatever it is."""
        try:
            return await self._answer(request)
        except errors.StatusError as error:
            return _status(error)
        except web.HTTPRequestEntityTooLarge:
            return _status(errors.too_large(media.BODY_BYTES))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        query = request.rel_url.query
        what = asked(request.method, request.rel_url.raw_path, query)
        user = self._user(request)
        if what.path in READY or (what.path.rpartition("/")[0] in READY):
            return web.Response(text="ok")
        self._rights.check(user, _judged(what, query.get("fieldSelector", "")))
        if not what.resource:
            return self._discovery.answer(request)
        if (served := REVIEWS.get((what.group, what.resource))) and what.version == "v1":
            return _json(201, encoded(self._reviews.answer(served, await self._object(request, served), user)))
        found = self._store.registry.at(what.group, what.version, what.resource)
        if found is None:
            return self._unserved(what)
        return await self._of_kind(request, found, what)

    async def _of_kind(self, request: web.BaseRequest, served: Served, what: Asked) -> web.StreamResponse:
        if what.resource == "pods" and what.subresource in POD_STREAMS:
            return await self._pods.answer(request, what)
        if what.resource in PROXIED and what.subresource == PROXY and not what.group:
            return await self._proxy.answer(request, what)
        wanted = media.wanted(request.headers.get("Accept", ""))
        if what.verb == "watch":
            return await self._streams.serve(request, served, what, wanted)
        raw = await request.read() if what.verb in WRITES else b""
        if what.verb == "create" and what.name:
            return self._made(await self._object(request, _part(served, what)), what)
        if what.verb in ("update", "patch") and not what.name:
            raise not_allowed()
        if not subresources.has(served, what.subresource):
            return _no_part(served, what.name)
        given = Given(
            query=request.rel_url.query,
            content_type=request.headers.get("Content-Type", ""),
            agent=request.headers.get("User-Agent", ""),
            raw=raw,
        )
        code, body = self._calls.answer(served, what, given, wanted)
        return _json(code, body, wanted)

    def _unserved(self, what: Asked) -> web.Response:
        """A kind that is not there; only groups that are built in have a `Status` for this."""
        kinds = (one.kind for one in self._store.registry.all() if not one.custom)
        if any((kind.group, kind.version) == (what.group, what.version) for kind in kinds):
            raise errors.kind_missing()
        return _missing()

    def _made(self, body: Obj, what: Asked) -> web.Response:
        """What is made below an object: a token, a binding, an eviction."""
        key = Key(what.namespace, what.name)
        match what.resource, what.subresource:
            case "serviceaccounts", "token":
                return _json(201, encoded(self._reviews.token(key, body)))
            case "pods", "binding":
                return _json(201, self._pods.bind(key, body))
            case "pods", "eviction":
                return _json(201, self._pods.evict(key, body))
        raise not_allowed()

    async def _object(self, request: web.BaseRequest, served: Served) -> Obj:
        kind = media.content_type(request.headers.get("Content-Type", ""), media.BODIES)
        body = media.decoded(await request.read(), kind, served)
        if not isinstance(body, dict):
            raise errors.bad_request(f"the object provided is unrecognized (must be of type {served.kind.kind})")
        return body

    def _user(self, request: web.BaseRequest) -> User:
        header = request.headers.get("Authorization", "")
        if not header:
            return ANONYMOUS
        scheme, _, token = header.partition(" ")
        user = self._tokens.user(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise errors.StatusError(401, "Unauthorized", "Unauthorized")
        name = request.headers.get("Impersonate-User", "")
        return self._impersonated(user, name, request) if name else user

    def _impersonated(self, user: User, name: str, request: web.BaseRequest) -> User:
        what = Asked(verb="impersonate", path="", resource="users", name=name)
        self._rights.check(user, what)
        prefix, _, account = name.partition("system:serviceaccount:")
        if not prefix and ":" in account:
            return account_user(*account.split(":", 1))
        return User(name, (*request.headers.getall("Impersonate-Group", ()), AUTHENTICATED))


def _part(served: Served, what: Asked) -> Served:
    return TOKENREQUEST if what.subresource == "token" else served


def _judged(what: Asked, fields: str) -> Asked:
    """A collection of one object by its name is judged as that object, as RBAC has it."""
    name = fields.removeprefix("metadata.name=") if fields.startswith("metadata.name=") else ""
    if name and "," not in name and not what.name and what.verb in ("list", "watch"):
        return msgspec.structs.replace(what, name=name)
    return what


def _json(code: int, body: bytes, wanted: Wanted = PLAIN) -> web.Response:
    if wanted.yaml:
        return web.Response(status=code, body=media.as_yaml(body), headers={**HEADERS, "Content-Type": media.YAML})
    return web.Response(status=code, body=body, headers=HEADERS)


def _status(error: errors.StatusError) -> web.Response:
    return web.Response(status=error.code, body=msgspec.json.encode(error.status()), headers=HEADERS)


def _no_part(served: Served, name: str) -> web.Response:
    """An object without this part; of custom resources the server says that the object is not there."""
    return _status(errors.not_found(served, name) if served.custom else errors.kind_missing())


def _missing() -> web.Response:
    """Nothing is served there; the API server has no `Status` for this."""
    return web.Response(status=404, text="404 page not found\n")
