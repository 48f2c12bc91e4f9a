"""One request to a dashboard and its answer, whatever it sends: limits of time and size, no redirects, no packing."""

import asyncio
import functools
from collections.abc import Mapping

import aiohttp
import msgspec
from yarl import URL

from manta_common.config import Secret
from manta_common.dashboard.calls import RAY_REFUSED
from manta_common.errors import Refused, Unreachable
from manta_common.kube.connection import Connection, Reach
from manta_common.settings.values import HIDDEN
from manta_dashboard_gateway.credentials import Credential, Credentials, Unauthorised
from manta_dashboard_gateway.places import Target
from manta_dashboard_gateway.ray.lanes import Lane, Limits

TOKEN_HEADER = "X-Ray-Authorization"  # Ray's own, so that the API server's proxy keeps it
MOST_BYTES = 10_000_000
MOST_URLS = 10_000  # that are kept: to take one apart costs a tenth of a request
SHOWN_BYTES = 4096  # of an answer that is an error
JSON = "application/json"


class TooLarge(Unreachable):
    """An answer larger than we take."""


class Late(Unreachable):
    """No answer in time: whoever does not answer at all costs more than one that refuses."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked; `call` names it in metrics. With `tail_bytes`, of a longer answer the end is taken."""

    call: str
    path: str
    limit_seconds: float
    method: str = "GET"
    body: bytes | None = None
    tail_bytes: int = 0


class Answer(msgspec.Struct, frozen=True):
    """An answer of success; `cut` when its beginning is missing. What else Ray says is an error."""

    body: bytes
    cut: bool = False
    code: int = 200


class Failure(Refused):
    """Ray answered that it could not or would not; `text` is what it said."""

    def __init__(self, code: int, text: str, content_type: str, *, said: str) -> None:
        super().__init__(code, RAY_REFUSED, said)
        self.text, self.content_type = text, content_type


class Transport:
    """Sends requests; one that failed before goes in a lane of its own kind."""

    def __init__(self, credentials: Credentials, api_server: Connection | None, limits: Limits | None = None) -> None:
        self._credentials, self._api_server = credentials, api_server
        limits = limits or Limits()
        self._usual, self._wary = Lane(limits.at_once, limits), Lane(limits.wary_at_once, limits)
        self._url = functools.lru_cache(MOST_URLS)(_url)
        self._waiting: set[asyncio.Timeout] = set()
        self._stopped = False

    async def close(self) -> None:
        """Close every connection."""
        self.give_up()
        await self._usual.close()
        await self._wary.close()

    def give_up(self) -> None:
        """Let every request end now that is under way, as if its time were up, and begin no more."""
        self._stopped = True
        for waiting in self._waiting:
            if not waiting.expired():
                waiting.reschedule(0)

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return self._usual.connections + self._wary.connections

    async def send(self, target: Target, request: Request, *, wary: bool = False) -> Answer:
        """Ask, and once more with other credentials when these were refused and there are others.

        Waiting for a turn does not count: it is not the dashboard's fault.
        """
        lane = self._wary if wary else self._usual
        async with lane.turns:
            try:
                return await self._tried(lane, target, request)
            except TimeoutError as error:
                raise Late(f"{_what(target, request)}: no answer in time") from error
            except (aiohttp.ClientError, OSError, ValueError) as error:
                raise Unreachable(f"{_what(target, request)}: {error or type(error).__name__}") from error

    async def _tried(self, lane: Lane, target: Target, request: Request) -> Answer:
        if self._stopped:
            raise Unreachable("this gateway has stopped")
        async with asyncio.timeout(request.limit_seconds) as waiting:
            self._waiting.add(waiting)
            try:
                credential = await self._credentials.of(target)
                return await self._twice(lane, target, request, credential)
            finally:
                self._waiting.discard(waiting)

    async def _twice(self, lane: Lane, target: Target, request: Request, credential: Credential) -> Answer:
        try:
            return await self._exchange(lane, target, request, credential)
        except (Unauthorised, aiohttp.ClientSSLError):
            renewed = await self._credentials.renewed(target, credential)
            if renewed is None:
                raise
            return await self._exchange(lane, target, request, renewed)

    async def _exchange(self, lane: Lane, target: Target, request: Request, credential: Credential) -> Answer:
        """One request. A connection is kept when its answer was read to the end, which the library sees by itself."""
        opening = self._direct if target.address else self._proxied
        response = await opening(lane, target, request, headers=_headers(request, credential), credential=credential)
        try:
            if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                raise Unreachable("the answer is packed, which was not asked for")
            if 200 <= response.status < 300:
                return await _body(response, request.tail_bytes)
            text = _without(credential.token, await _beginning(response))
            raise _fault(target, response.status, text, content_type=response.content_type)
        finally:
            response.close()

    async def _direct(
        self, lane: Lane, target: Target, request: Request, *, headers: Mapping[str, str], credential: Credential
    ) -> aiohttp.ClientResponse:
        """To the dashboard itself, which may be at another address than it is called."""
        return await lane.session.request(
            request.method,
            self._url(target.scheme, target.address, request.path),
            data=request.body,
            headers={**headers, "Host": target.host},
            allow_redirects=False,
            ssl=credential.tls or True,
            server_hostname=target.host.rpartition(":")[0] if credential.tls else None,
        )

    async def _proxied(
        self, lane: Lane, target: Target, request: Request, *, headers: Mapping[str, str], credential: Credential
    ) -> aiohttp.ClientResponse:
        """By the API server, with our credentials for it; after a 401, which may be its own, with those read again."""
        assert self._api_server is not None
        reach = await self._api_server.current()
        response = await self._by(reach, lane, target, request=request, headers=headers)
        if response.status == 401:
            response.close()
            reach = await self._api_server.refused(reach)
            response = await self._by(reach, lane, target, request=request, headers=headers)
        return response

    async def _by(
        self, reach: Reach, lane: Lane, target: Target, *, request: Request, headers: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        access = reach.access
        return await lane.session.request(
            request.method,
            URL(f"{access.server}{target.path}{request.path}", encoded=True),
            data=request.body,
            headers={**headers, **({"Authorization": access.authorization} if access.authorization else {})},
            allow_redirects=False,
            ssl=reach.tls,
            server_hostname=access.server_name or None,
            proxy=access.proxy or None,
        )


def _url(scheme: str, address: str, path: str) -> URL:
    return URL(f"{scheme}://{address}{path}", encoded=True)


def _what(target: Target, request: Request) -> str:
    return f"{request.method} {request.path} of {target.cluster}"


def _headers(request: Request, credential: Credential) -> dict[str, str]:
    headers = {"Accept": JSON, "Accept-Encoding": "identity"}
    if credential.token:
        headers[TOKEN_HEADER] = f"Bearer {credential.token.reveal()}"
    if request.body is not None or request.method == "POST":
        headers["Content-Type"] = JSON
    return headers


async def _body(response: aiohttp.ClientResponse, tail_bytes: int) -> Answer:
    """The body up to our limit, or the end of it."""
    pieces, size, cut = bytearray(), 0, False
    while piece := await response.content.readany():
        pieces += piece
        size += len(piece)
        if not tail_bytes and size > MOST_BYTES:
            response.close()
            raise TooLarge(f"the answer is larger than {MOST_BYTES} bytes")
        if tail_bytes and len(pieces) > 2 * tail_bytes:
            del pieces[:-tail_bytes]
            cut = True
    return Answer(bytes(pieces), cut, response.status)


async def _beginning(response: aiohttp.ClientResponse) -> str:
    """The first part of an error; the rest is of no interest."""
    found = bytearray()
    while len(found) < SHOWN_BYTES and (piece := await response.content.read(SHOWN_BYTES)):
        found += piece
    return found.decode(errors="replace")


def _without(token: Secret, text: str) -> str:
    """A text of theirs without the token that we sent; what is said of it is logged and told."""
    return text.replace(token.reveal(), HIDDEN) if token else text


def _fault(target: Target, code: int, text: str, *, content_type: str) -> Refused | Unreachable:
    """What an answer other than success means."""
    if not target.address and content_type == JSON and '"kind":"Status"' in text.replace(" ", ""):
        return Unreachable(f"the API server's proxy answered {code}: {_gist(text)}")
    said = f"{f'the pod {target.pod}' if target.pod else 'the dashboard'} answered {code}"
    if 300 <= code < 400:
        return Unreachable(f"{said}: it wants us to go elsewhere, which we do not")
    if code in (401, 403):
        return Unauthorised(f"{said}: {_gist(text)}")
    return Failure(code, text, content_type, said=f"{said}: {_gist(text)}")


def _gist(text: str) -> str:
    """What says something: of a traceback, as Ray's errors are, its last line, which is the reason, else all of it."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" \t.")]
    if not lines:
        return "(nothing)"
    is_traceback = any(line.startswith(("Traceback", 'File "')) for line in lines)
    return (lines[-1] if is_traceback else " ".join(lines))[:300]
