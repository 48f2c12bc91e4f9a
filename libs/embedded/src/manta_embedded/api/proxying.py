"""HTTP to pods and services by way of the API: for `kubectl proxy`, and for dashboards in a browser."""

import asyncio
import contextlib

import aiohttp
import msgspec
from aiohttp import WSMsgType, web

from manta_common.keys import Key
from manta_common.kinds import ENDPOINTSLICE, POD, SERVICE
from manta_embedded.api.asked import Asked
from manta_embedded.api.endpoints import OF
from manta_embedded.store import errors
from manta_embedded.store.errors import StatusError
from manta_embedded.store.objects import Obj, at_path
from manta_embedded.store.store import Store

BLOCK = 64 * 1024
CONNECT_SECONDS = 10.0
SCHEMES = ("", "http", "https")
NEIGHBOURS = ("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "host")
SOCKETS = ("key", "version", "extensions", "protocol")
OURS = ("authorization", "proxy-authenticate", "proxy-authorization")  # meant for the API alone
NOT_PASSED = frozenset((*NEIGHBOURS, *OURS, *(f"sec-websocket-{part}" for part in SOCKETS)))


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What a name in a path means: `name`, `name:port` or `scheme:name:port`."""

    scheme: str
    name: str
    port: str

    @classmethod
    def of(cls, text: str, kind: str) -> "Target":
        """Read a name; 400 when it is none."""
        parts = text.split(":")
        scheme, name, port = parts if len(parts) == 3 else ("", *parts, "")[:3]
        if len(parts) > 3 or not name or scheme not in SCHEMES:
            raise errors.bad_request(f'invalid {kind} request "{text}"')
        return cls(scheme=scheme or "http", name=name, port=port)


class Proxy:
    """Passes requests on to pods, and their answers back."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def answer(self, request: web.BaseRequest, what: Asked) -> web.StreamResponse:
        """The answer of the pod; 503 when there is none."""
        place = self._of_pod(what) if what.resource == POD.plural else self._of_service(what)
        path = _rest(request)
        if not path and request.method in ("GET", "HEAD"):
            query = f"?{request.rel_url.raw_query_string}" if request.rel_url.raw_query_string else ""
            return web.Response(status=301, headers={"Location": f"{request.rel_url.raw_path}/{query}"})
        url = f"{place}{path or '/'}"
        if request.rel_url.raw_query_string:
            url += f"?{request.rel_url.raw_query_string}"
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
        async with aiohttp.ClientSession(timeout=limits, auto_decompress=False) as session:
            passing = _pass_socket if _is_socket(request) else _pass
            try:
                return await passing(request, session, url)
            except (aiohttp.ClientConnectionError, TimeoutError) as error:
                raise StatusError(503, "ServiceUnavailable", f"error trying to reach service: {error}") from error

    def _of_pod(self, what: Asked) -> str:
        target = Target.of(what.name, "pod")
        pod = self._store.get(POD, Key(what.namespace, target.name))
        address = at_path(pod, "status.podIP")
        if not address:
            raise errors.bad_request("address not allowed")
        port = target.port or next((str(port["containerPort"]) for port in _ports(pod)), "80")
        return f"{target.scheme}://{address}:{port}"

    def _of_service(self, what: Asked) -> str:
        target = Target.of(what.name, "service")
        service = self._store.get(SERVICE, Key(what.namespace, target.name))
        wanted = _port_name(service, target)
        found = [
            f"{target.scheme}://{address}:{port['port']}"
            for one in self._store.objects(ENDPOINTSLICE, what.namespace)
            if (one["metadata"].get("labels") or {}).get(OF) == target.name
            for port in one.get("ports") or ()
            if port.get("name", "") == wanted
            for address in _ready(one)
        ]
        if not found:
            text = f'no endpoints available for service "{what.name}"'
            raise StatusError(503, "ServiceUnavailable", text)
        return self._store.rng.choice(found)


def _port_name(service: Obj, target: Target) -> str:
    """The name of the port of a service that was asked for; a number is one of the service's own."""
    ports: list[Obj] = at_path(service, "spec.ports") or []
    if not target.port and len(ports) == 1:
        return str(ports[0].get("name", ""))
    if not target.port.isdigit():
        return target.port
    for port in ports:
        if port["port"] == int(target.port):
            return str(port.get("name", ""))
    text = f'no service port {target.port} found for service "{target.name}"'
    raise StatusError(503, "ServiceUnavailable", text)


def _ready(endpoints: Obj) -> list[str]:
    found = endpoints.get("endpoints") or ()
    return [address for one in found if at_path(one, "conditions.ready") is not False for address in one["addresses"]]


def _ports(pod: Obj) -> list[Obj]:
    return [port for container in pod["spec"]["containers"] for port in container.get("ports") or ()]


def _rest(request: web.BaseRequest) -> str:
    """What follows the name and `proxy` in the path, as it was sent."""
    return "".join(f"/{part}" for part in request.rel_url.raw_path.split("/")[8:])


def _is_socket(request: web.BaseRequest) -> bool:
    return request.headers.get("Upgrade", "").lower() == "websocket"


def _headers(request: web.BaseRequest) -> list[tuple[str, str]]:
    return [(name, value) for name, value in request.headers.items() if name.lower() not in NOT_PASSED]


async def _pass(request: web.BaseRequest, session: aiohttp.ClientSession, url: str) -> web.StreamResponse:
    body = request.content if request.body_exists else None
    async with session.request(
        request.method, url, headers=_headers(request), data=body, allow_redirects=False
    ) as answer:
        kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in NOT_PASSED]
        response = web.StreamResponse(status=answer.status, reason=answer.reason)
        response.headers.extend(kept)
        with contextlib.suppress(ConnectionResetError):  # whoever asked has left
            await response.prepare(request)
            async for chunk in answer.content.iter_chunked(BLOCK):
                await response.write(chunk)
            await response.write_eof()
        return response


async def _pass_socket(request: web.BaseRequest, session: aiohttp.ClientSession, url: str) -> web.StreamResponse:
    """Messages both ways until one end closes."""
    spoken = [one.strip() for one in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if one.strip()]
    async with session.ws_connect(url, headers=_headers(request), protocols=spoken, max_msg_size=0) as there:
        here = web.WebSocketResponse(protocols=(there.protocol,) if there.protocol else (), max_msg_size=0)
        await here.prepare(request)
        pumps = [asyncio.create_task(_pump(here, there)), asyncio.create_task(_pump(there, here))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)
        await here.close(code=there.close_code or 1000)
        return here


async def _pump(
    source: web.WebSocketResponse | aiohttp.ClientWebSocketResponse,
    sink: web.WebSocketResponse | aiohttp.ClientWebSocketResponse,
) -> None:
    with contextlib.suppress(ConnectionError):
        async for message in source:
            if message.type is WSMsgType.TEXT:
                await sink.send_str(message.data)
            elif message.type is WSMsgType.BINARY:
                await sink.send_bytes(message.data)
