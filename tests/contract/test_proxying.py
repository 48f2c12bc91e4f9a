"""HTTP to pods and services by way of the embedded API."""

import asyncio
import ssl
import threading
from collections.abc import Iterator

import aiohttp
import pytest
from aiohttp import web

from tests.parts.cluster import ApiError, Cluster
from tests.parts.embedded_api import EmbeddedCluster
from tests.parts.patience import patient

LIMIT_SECONDS = 30
SPACE = "api/v1/namespaces/default"


class Backend:
    """A web server on this machine, in a thread of its own; stands for what runs in a pod."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._ready, self._ending, self.port = threading.Event(), asyncio.Event(), 0
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(patient(LIMIT_SECONDS))

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(patient(LIMIT_SECONDS))
        self._loop.close()

    async def _serve(self) -> None:
        runner = web.ServerRunner(web.Server(_answer))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._ending.wait()
        await runner.cleanup()


async def _answer(request: web.BaseRequest) -> web.StreamResponse:
    if request.headers.get("Upgrade") == "websocket":
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await socket.send_str(message.data.upper())
        return socket
    if request.path == "/moved":
        raise web.HTTPFound("/elsewhere")
    body = {
        "asked": f"{request.method} {request.raw_path}",
        "said": (await request.read()).decode(),
        "authorization": request.headers.get("Authorization", "none"),
    }
    return web.json_response(body, status=418 if request.path == "/teapot" else 200)


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    one = Backend()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, backend: Backend) -> Iterator[EmbeddedCluster]:
    """The embedded API with a pod, a service whose port is not the pod's, and one at which nobody listens."""
    found = EmbeddedCluster.start(tmp_path_factory.mktemp("proxying"))
    container = {"name": "main", "image": "example/none:1", "ports": [{"name": "web", "containerPort": backend.port}]}
    pod = {"metadata": {"name": "one", "labels": {"app": "one"}}, "spec": {"containers": [container]}}
    found.request("POST", f"{SPACE}/pods", pod)
    ready = [{"type": "Ready", "status": "True"}]
    status = {"status": {"phase": "Running", "podIP": "127.0.0.1", "conditions": ready}}
    found.request("PATCH", f"{SPACE}/pods/one/status", status, "application/merge-patch+json")
    ports = [{"name": "web", "port": 80, "targetPort": "web"}, {"name": "dead", "port": 81, "targetPort": 1}]
    spec = {"selector": {"app": "one"}, "ports": ports}
    found.request("POST", f"{SPACE}/services", {"metadata": {"name": "front"}, "spec": spec})
    yield found
    found.stop()


@pytest.mark.parametrize(
    ("place", "seen"),
    [
        pytest.param("services/front:web/proxy/api/jobs/?a=b%20c", "/api/jobs/?a=b%20c", id="a port by name"),
        pytest.param("services/front:80/proxy/x%2Fy", "/x%2Fy", id="a port by number, a path with an escape"),
        pytest.param("services/http:front:80/proxy/", "/", id="with a scheme"),
        pytest.param("services/front:80/proxy", "/", id="without the last slash"),
        pytest.param("pods/one/proxy/a", "/a", id="a pod at its first port"),
    ],
)
def test_a_request_goes_to_the_pod(cluster: EmbeddedCluster, place: str, seen: str) -> None:
    found = cluster.request("GET", f"{SPACE}/{place}")
    assert found == {"asked": f"GET {seen}", "said": "", "authorization": "none"}


def test_bodies_go_along(cluster: EmbeddedCluster, backend: Backend) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        found = cluster.request(method, f"{SPACE}/pods/one:{backend.port}/proxy/a", {"of": "n" * 100_000})
        assert (found["asked"], len(found["said"])) == (f"{method} /a", 100_010)


def test_the_code_is_that_of_the_pod(cluster: EmbeddedCluster) -> None:
    with pytest.raises(ApiError) as refused:
        cluster.request("GET", f"{SPACE}/services/front:80/proxy/teapot")
    assert refused.value.code == 418


def test_nobody_listens(cluster: EmbeddedCluster) -> None:
    with pytest.raises(ApiError) as refused:
        cluster.request("GET", f"{SPACE}/services/front:dead/proxy/")
    assert (refused.value.code, refused.value.status["reason"]) == (503, "ServiceUnavailable")
    assert "error trying to reach service" in refused.value.status["message"]


async def test_a_redirect_and_a_websocket_are_passed_on(cluster: EmbeddedCluster) -> None:
    url = f"{cluster.server}/{SPACE}/services/front:80/proxy"
    headers = {"Authorization": f"Bearer {cluster.token}"}
    tls = ssl.create_default_context(cafile=str(cluster.ca))
    connector = aiohttp.TCPConnector(ssl=tls)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
        async with session.get(f"{url}/moved", allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (302, "/elsewhere")
        async with session.ws_connect(f"{url}/tail") as socket:
            await socket.send_str("quiet")
            assert await socket.receive_str(timeout=patient(LIMIT_SECONDS)) == "QUIET"


@pytest.mark.parametrize(("role", "may"), [("view", False), ("edit", True)])
def test_it_takes_a_right_of_its_own(cluster: EmbeddedCluster, role: str, may: bool) -> None:
    cluster.kubectl("create", "serviceaccount", role)
    cluster.kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--serviceaccount=default:{role}")
    token = cluster.service_account_token("default", role)
    own = Cluster(role, server=cluster.server, ca=cluster.ca, token=token, kubeconfig=cluster.kubeconfig)
    path = f"{SPACE}/services/front:80/proxy/a"
    if may:
        assert own.request("GET", path)["asked"] == "GET /a"
        return
    with pytest.raises(ApiError, match='cannot get resource "services/proxy"'):
        own.request("GET", path)
