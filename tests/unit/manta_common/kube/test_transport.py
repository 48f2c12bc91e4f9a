"""One request and its answer, with credentials, certificates, proxies and connections that break."""

import asyncio
import gzip
import json
import pathlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import msgspec
import pytest
import trustme
from aiohttp import web

from manta_common.errors import Misconfigured, Refused, Unreachable
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP
from manta_common.kube.client import Client, connect
from manta_common.kube.protocol import MergePatch, Scope
from manta_common.kube.settings import KubeSettings
from tests.unit.manta_common.kube.place import OBJECT, Answer, Place, hang_up, ok

KEY = Key("team", "one")


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def place(tmp_path: pathlib.Path, authority: trustme.CA) -> Place:
    return Place(tmp_path, authority)


async def get(client: Client) -> dict[str, Any]:
    return await client.get(CONFIGMAP, KEY, dict)


async def test_who_we_say_we_are(place: Place) -> None:
    async with place.client() as client:
        assert await get(client) == OBJECT
    (request,) = place.requests
    assert request.path_qs == "/api/v1/namespaces/team/configmaps/one"
    assert request.headers["Authorization"] == "Bearer secret"
    assert request.headers["User-Agent"] == f"manta/{version('manta-common')} (unit)"
    assert request.headers["Accept-Encoding"] == "identity"
    assert "Cookie" not in request.headers


async def test_a_server_below_a_path(place: Place) -> None:
    async with place.serving() as url:
        path = place.kubeconfig(f"{url}/k8s/clusters/c-1/", {}, {"token": "t"})
        async with connect(KubeSettings(), kubeconfig=path) as client:
            await get(client)
    assert place.requests[0].path == "/k8s/clusters/c-1/api/v1/namespaces/team/configmaps/one"


async def test_connections_are_kept(place: Place) -> None:
    async with place.client() as client:
        for _ in range(10):
            await get(client)
    assert len({id(request.protocol) for request in place.requests}) == 1


async def test_no_more_connections_than_set(place: Place) -> None:
    async with place.client(connections=3) as client:
        await asyncio.gather(*(get(client) for _ in range(30)))
    assert len({id(request.protocol) for request in place.requests}) <= 3


async def test_a_client_certificate_is_shown(place: Place) -> None:
    place.wants_certificate = True
    place.write_client_certificate()
    user = {"client-certificate": "client.pem", "client-key": "client.key"}
    async with place.client(user=user) as client:
        assert await get(client) == OBJECT
    assert "Authorization" not in place.requests[0].headers


async def test_without_a_certificate_that_server_is_unreachable(place: Place) -> None:
    place.wants_certificate = True
    async with place.client() as client:
        with pytest.raises(Unreachable):
            await get(client)


async def test_a_certificate_of_a_plugin_is_shown(place: Place) -> None:
    place.wants_certificate = True
    place.write_client_certificate()
    script = (
        "import json, pathlib; "
        f"here = pathlib.Path({str(place.folder)!r}); "
        "certificate, key = (here.joinpath(name).read_text() for name in ('client.pem', 'client.key')); "
        "print(json.dumps({'status': {'clientCertificateData': certificate, 'clientKeyData': key}}))"
    )
    user = {"exec": {"apiVersion": "v1", "command": sys.executable, "args": ["-c", script]}}
    async with place.client(user=user) as client:
        assert await get(client) == OBJECT


async def test_a_server_under_another_name(place: Place) -> None:
    place.names = ["kubernetes.default.svc"]
    async with place.client() as client:
        with pytest.raises(Unreachable, match="certificate"):
            await get(client)
    async with place.client(cluster={"tls-server-name": "kubernetes.default.svc"}) as client:
        assert await get(client) == OBJECT


async def test_an_unknown_ca(place: Place) -> None:
    async with place.client(cluster={"certificate-authority": None}) as client:
        with pytest.raises(Unreachable, match="certificate"):
            await get(client)
    insecure = {"certificate-authority": None, "insecure-skip-tls-verify": True}
    async with place.client(cluster=insecure) as client:
        assert await get(client) == OBJECT


@asynccontextmanager
async def forwarding(seen: list[bytes]) -> AsyncIterator[str]:
    """A proxy that connects to where it is told; its URL."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            writer.write(chunk)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        seen.append(head)
        host, _, port = head.split(b" ")[1].decode().partition(":")
        there_reader, there_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(copy(reader, there_writer), copy(there_reader, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_proxy_is_used_with_its_password(place: Place) -> None:
    seen: list[bytes] = []
    async with forwarding(seen) as proxy:
        with_password = proxy.replace("http://", "http://user:word@")
        async with place.client(cluster={"proxy-url": with_password}) as client:
            assert await get(client) == OBJECT
            assert await get(client) == OBJECT
    assert len(seen) == 1
    assert seen[0].startswith(b"CONNECT 127.0.0.1:")
    assert b"Proxy-Authorization: Basic dXNlcjp3b3Jk" in seen[0]
    assert b"secret" not in seen[0]


async def test_a_proxy_of_an_unknown_kind_is_a_wrong_setting(place: Place) -> None:
    path = place.kubeconfig("https://127.0.0.1:1", {"proxy-url": "socks5://x:1"}, {"token": "t"})
    with pytest.raises(Misconfigured, match="proxy"):
        async with connect(KubeSettings(), kubeconfig=path):
            pytest.fail("it was used")


async def test_a_write_whose_connection_broke_is_never_repeated(place: Place) -> None:
    async with place.client() as client:
        await get(client)  # the write goes over a kept connection
        place.answer = hang_up
        with pytest.raises(Unreachable):
            await client.create(CONFIGMAP, "team", OBJECT, dict)
        with pytest.raises(Unreachable):
            await client.patch(CONFIGMAP, KEY, MergePatch({}), dict)
    assert [request.method for request in place.requests] == ["GET", "POST", "PATCH"]


async def test_a_delete_names_the_uid_and_may_be_repeated_once(place: Place) -> None:
    place.answer = hang_up_once(place)
    async with place.client() as client:
        await client.delete(CONFIGMAP, KEY, uid="u")
    assert [request.method for request in place.requests] == ["DELETE", "DELETE"]


async def test_a_read_over_a_connection_that_was_closed_is_repeated_once(place: Place) -> None:
    async with place.client() as client:
        await get(client)
        place.answer = hang_up_once(place)
        assert await get(client) == OBJECT
    assert len(place.requests) == 3


async def test_a_read_that_is_hung_up_on_again_is_unreachable(place: Place) -> None:
    place.answer = hang_up
    async with place.client() as client:
        with pytest.raises(Unreachable):
            await get(client)
    assert len(place.requests) == 2


def hang_up_once(place: Place) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        place.answer = ok
        return await hang_up(request)

    return answer


async def test_an_answer_that_breaks_off_is_none(place: Place) -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"metadata":')
        return await hang_up(request)

    place.answer = broken
    async with place.client() as client:
        with pytest.raises(Unreachable):
            await client.create(CONFIGMAP, "team", OBJECT, dict)
    assert len(place.requests) == 1


@pytest.mark.parametrize(
    "response",
    [
        pytest.param({"status": 200, "text": "<html>please log in</html>"}, id="the page of a portal"),
        pytest.param({"status": 302, "headers": {"Location": "https://example.test/login"}}, id="sent elsewhere"),
    ],
)
async def test_an_answer_of_somebody_else_is_none(place: Place, response: dict[str, Any]) -> None:
    async def other(request: web.Request) -> web.StreamResponse:
        return web.Response(**response)

    place.answer = other
    async with place.client() as client:
        with pytest.raises(Unreachable):
            await get(client)


async def test_lists_are_compressed_and_nothing_else(place: Place) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if "gzip" not in request.headers["Accept-Encoding"]:
            return web.json_response(OBJECT)
        body = gzip.compress(json.dumps({"metadata": {"resourceVersion": "5"}, "items": [OBJECT] * 3}).encode())
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        return web.Response(body=body, headers=headers)

    place.answer = answer
    async with place.client() as client:
        assert len((await client.list(CONFIGMAP, dict, Scope(namespace="team"))).items) == 3
        assert await get(client) == OBJECT
        assert await client.create(CONFIGMAP, "team", OBJECT, dict) == OBJECT


async def test_a_plugin_is_asked_once_for_all_calls_that_were_refused(place: Place) -> None:
    counter = place.folder / "runs"
    script = (
        "import json, pathlib; "
        f"counter = pathlib.Path({str(counter)!r}); "
        "runs = int(counter.read_text()) + 1 if counter.exists() else 1; counter.write_text(str(runs)); "
        "print(json.dumps({'status': {'token': f't{runs}'}}))"
    )

    async def only_the_second(request: web.Request) -> web.StreamResponse:
        known = request.headers["Authorization"] == "Bearer t2"
        return await ok(request) if known else web.json_response({"message": "who?"}, status=401)

    place.answer = only_the_second
    user = {"exec": {"apiVersion": "v1", "command": sys.executable, "args": ["-c", script]}}
    async with place.client(user=user) as client:
        assert await asyncio.gather(*(get(client) for _ in range(8))) == [OBJECT] * 8
    assert await asyncio.to_thread(counter.read_text) == "2"


async def test_credentials_that_stay_refused_are_tried_twice(place: Place) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.json_response({"reason": "Unauthorized", "message": "who?"}, status=401)

    place.answer = refuse
    async with place.client() as client:
        with pytest.raises(Refused, match=r"who\?") as refusal:
            await client.create(CONFIGMAP, "team", OBJECT, dict)
    assert (refusal.value.code, len(place.requests)) == (401, 2)


async def test_the_time_is_that_of_the_date_header(place: Place) -> None:
    async def later(request: web.Request) -> web.StreamResponse:
        return web.json_response(OBJECT, headers={"Date": "Mon, 16 Nov 2076 04:52:27 GMT"})

    place.answer = later
    async with place.client() as client:
        await get(client)
        assert client.now().isoformat().startswith("2076-11-16T04:52:2")


async def test_the_time_of_a_proxy_does_not_count(place: Place) -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        return web.json_response(OBJECT, status=502, headers={"Date": "Mon, 16 Nov 2076 04:52:27 GMT"})

    place.answer = broken
    async with place.client() as client:
        with pytest.raises(Unreachable):
            await get(client)
        assert client.now().year < 2076


async def test_a_body_of_many_megabytes_arrives_whole(place: Place) -> None:
    sizes: list[int] = []

    async def measure(request: web.Request) -> web.StreamResponse:
        sizes.append(sum([len(chunk) async for chunk in request.content.iter_any()]))
        return web.json_response(OBJECT)

    place.answer = measure
    async with place.client() as client:
        await client.create(CONFIGMAP, "team", {"text": "x" * 3_000_000}, msgspec.Raw)
    assert sizes == [len('{"text":""}') + 3_000_000]
