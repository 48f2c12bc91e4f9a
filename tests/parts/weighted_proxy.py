"""A data plane for the Gateway API, as small as can be: it takes up one Gateway and divides requests by its HTTPRoute.

Every answer tells by headers which Service was chosen, and by which generation of the route.
"""

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

import aiohttp
from aiohttp import web

from manta_common.errors import MantaError
from manta_common.keys import Key
from manta_common.kinds import ENDPOINTSLICE, GATEWAY, HTTPROUTE, Kind
from manta_common.kube.client import Client, connect
from manta_common.kube.protocol import MergePatch, Scope
from manta_common.kube.settings import KubeSettings
from tests.parts.cluster import Cluster
from tests.parts.patience import patient

CLASS: Final = "manta-test"
CONTROLLER: Final = "example.test/weighted-proxy"
SERVICE_HEADER, GENERATION_HEADER = "X-Backend-Service", "X-Route-Generation"
LOOK_SECONDS = 0.1
LIMIT_SECONDS = 15
Json = dict[str, Any]
T = TypeVar("T")


class Backend:
    """One Service of a route, with the pods that answer for it."""

    def __init__(self, service: str, weight: int, port: int) -> None:
        self.service, self.weight, self.port = service, weight, port
        self.addresses: list[str] = []
        self._turn = 0
        self.credit = 0  # smooth weighted round robin: whoever has waited longest for its share comes next

    def next_address(self) -> str:
        """One pod after the other; nothing when there is none."""
        if not self.addresses:
            return ""
        self._turn += 1
        return f"{self.addresses[self._turn % len(self.addresses)]}:{self.port}"


class Road:
    """One generation of a route."""

    def __init__(self, generation: int, backends: list[Backend]) -> None:
        self.generation, self.backends = generation, backends

    def choose(self) -> Backend | None:
        """Whose turn it is: after any number of requests nobody is more than one away from its share."""
        chosen = [each for each in self.backends if each.weight > 0]
        if not chosen:
            return None
        for each in chosen:
            each.credit += each.weight
        best = max(chosen, key=lambda each: each.credit)
        best.credit -= sum(each.weight for each in chosen)
        return best


class WeightedProxy:
    """Looks after one Gateway of a namespace; `pods` is the address that stands for all pods."""

    def __init__(self, cluster: Cluster, key: Key, pods: str) -> None:
        self.url = ""
        self._cluster, self._key, self._pods = cluster, key, pods
        self._road: Road | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="weighted proxy", daemon=True)
        self._following: asyncio.Task[None] | None = None
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None

    def start(self) -> None:
        """Listen on a free port of the loopback, and follow the route."""
        self._thread.start()
        self._in_loop(self._begin())

    def stop(self) -> None:
        """Close everything."""
        self._in_loop(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=LIMIT_SECONDS)
        self._loop.close()

    @property
    def reached(self) -> set[str]:
        """The Services that requests go to, as far as this data plane has learnt of them and of their pods."""
        road = self._road
        return {each.service for each in road.backends if each.weight > 0 and each.addresses} if road else set()

    async def _begin(self) -> None:
        application = web.Application()
        application.router.add_get("/{path:.*}", self._pass)
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=patient(LIMIT_SECONDS)))
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self._following = asyncio.create_task(self._follow())

    async def _end(self) -> None:
        if self._following:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        if self._runner:
            await self._runner.cleanup()
        if self._session:
            await self._session.close()
        await asyncio.sleep(0.25)  # TLS connections take their time to close, and an open one is a warning

    async def _pass(self, request: web.Request) -> web.Response:
        """Ask a pod of the Service whose turn it is."""
        road = self._road
        backend = road.choose() if road else None
        if road is None or backend is None:
            return web.Response(status=503, text="no route leads anywhere")
        address = backend.next_address()
        if not address:
            return web.Response(status=503, text=f"no pod behind {backend.service}")
        assert self._session
        async with self._session.get(f"http://{self._pods}{request.path}", headers={"Host": address}) as answer:
            told = {SERVICE_HEADER: backend.service, GENERATION_HEADER: str(road.generation)}
            return web.Response(status=answer.status, body=await answer.read(), headers=told)

    async def _follow(self) -> None:
        async with connect(KubeSettings(service="proxy"), kubeconfig=str(self._cluster.kubeconfig)) as kube:
            while True:
                try:
                    await self._look(kube)
                except MantaError as error:
                    print(f"weighted proxy: {error!r}; looking again")  # noqa: T201  pytest shows it with a failure
                await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, kube: Client) -> None:
        """Take up the Gateway and its route, and learn where it leads now."""
        gateway = await _find(kube, GATEWAY, self._key.namespace, self._key.name)
        if gateway is None or gateway["spec"]["gatewayClassName"] != CLASS:
            self._road = None
            return
        taken = _conditions(gateway, "Accepted", "Programmed")
        await _say(kube, GATEWAY, gateway, {"conditions": taken})
        route = await self._route(kube)
        if route is None:
            self._road = None
            return
        await self._learn(kube, route)
        parent = {"parentRef": {"name": self._key.name}, "controllerName": CONTROLLER}
        taken = _conditions(route, "Accepted", "ResolvedRefs")
        await _say(kube, HTTPROUTE, route, {"parents": [{**parent, "conditions": taken}]})

    async def _route(self, kube: Client) -> Json | None:
        found = await kube.list(HTTPROUTE, dict, Scope(namespace=self._key.namespace))
        ours = (each for each in found.items if self._key.name in {one["name"] for one in each["spec"]["parentRefs"]})
        return next(ours, None)

    async def _learn(self, kube: Client, route: Json) -> None:
        generation = route["metadata"]["generation"]
        if self._road is None or self._road.generation != generation:
            parts = route["spec"]["rules"][0]["backendRefs"]
            road = Road(generation, [Backend(each["name"], each["weight"], each["port"]) for each in parts])
        else:
            road = self._road
        slices = (await kube.list(ENDPOINTSLICE, dict, Scope(namespace=self._key.namespace))).items
        for backend in road.backends:
            backend.addresses = [ip for each in slices for ip in _addresses(each, backend.service)]
        self._road = road

    def _in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=patient(LIMIT_SECONDS))


async def _find(kube: Client, kind: Kind, namespace: str, name: str) -> Json | None:
    found = await kube.list(kind, dict, Scope(namespace=namespace, fields=f"metadata.name={name}"))
    return found.items[0] if found.items else None


async def _say(kube: Client, kind: Kind, found: Json, status: Json) -> None:
    """Write a status that is not there yet."""
    before: Mapping[str, Any] = found.get("status", {})
    if all(before.get(name) == value for name, value in status.items()):
        return
    key = Key(found["metadata"]["namespace"], found["metadata"]["name"])
    await kube.patch(kind, key, MergePatch({"status": status}), dict, subresource="status")


def _conditions(found: Json, *types: str) -> list[Json]:
    """That somebody has taken it up, as of its present generation."""
    meta = found["metadata"]
    common = {"status": "True", "message": "", "lastTransitionTime": meta["creationTimestamp"]}
    return [{"type": each, "reason": each, "observedGeneration": meta["generation"], **common} for each in types]


def _addresses(slice_: Json, service: str) -> list[str]:
    if slice_["metadata"].get("labels", {}).get("kubernetes.io/service-name") != service:
        return []
    ready = (each for each in slice_.get("endpoints") or () if each.get("conditions", {}).get("ready"))
    return [address for each in ready for address in each["addresses"]]
