"""RayServices in a world: all services that run them, Serve and its proxies, and what must be true at any moment."""

from collections import Counter
from typing import Any

from manta_common.api.labels import ENDPOINT_SLICE_SERVICE, HEAD, NODE_TYPE
from manta_common.kinds import POD, RAYCLUSTER, RAYSERVICE
from manta_common.kube.events import Recorder
from manta_common.plane import Shape
from manta_dashboard_gateway.gateway import Gateway, Setup
from manta_embedded.sim.dashboards import Reply
from manta_embedded.sim.endpoints import EndpointSlices
from manta_embedded.sim.service import Seat
from manta_embedded.sim.world import World
from manta_embedded.store.changes import Event
from manta_embedded.store.objects import Obj
from manta_serve_reconciler.observed import ServeSettings
from manta_serve_reconciler.reconcile import ServeService
from tests.examples import manifests
from tests.model import clusters
from tests.model import crashes as crashing
from tests.model.clusters import PARTITIONS
from tests.model.seats import NearTransport, Seated

ONE = "applications:\n- name: one\n  import_path: a.b:app\n  route_prefix: /one\n"
TWO = f"{ONE}- name: two\n  import_path: a.c:app\n  route_prefix: /two\n"
HEALTH = "/-/healthz"
RECONCILER = "serve-1"  # the first of them


class Process(Seated):
    """The serve-reconciler as its main function runs it."""

    def __init__(self, seat: Seat, settings: ServeSettings) -> None:
        recorder = Recorder(seat.kube, seat.name)
        self.service = ServeService(seat.kube, seat.means, settings, recorder, Shape(partitions=PARTITIONS))
        super().__init__(recorder, self.service.plane)


class Scene:
    """A world with all that RayServices need, and a book of what Serve was told."""

    def __init__(self, world: World, *, replicas: int = 1, settings: ServeSettings | None = None) -> None:
        self.world = world
        self.puts: Counter[str] = Counter()  # by cluster
        self.broken = False  # applications that are deployed from now on fail
        self.sick: set[str] = set()  # addresses whose proxies do not answer
        self.slices = EndpointSlices(world.store, world.loop, world.chance)
        clusters.begin(world, replicas=replicas)
        for number in range(1, replicas + 1):
            world.start(f"gateway-{number}", self._gateway)
            world.start(f"serve-{number}", lambda seat: Process(seat, settings or ServeSettings()))
        world.always(self._complaint)

    def make(self, name: str = "s", annotations: dict[str, str] | None = None, **spec: Any) -> None:
        """A RayService whose cluster has a head and one worker."""
        body = {"serveConfigV2": ONE, "rayClusterConfig": manifests.CLUSTER, **spec}
        about = {"name": name, "annotations": annotations or {}}
        self.world.create(RAYSERVICE, {"metadata": about, "spec": body})

    def change(self, name: str = "s", **spec: Any) -> None:
        """Change a RayService's spec."""
        self.world.patch(RAYSERVICE, name, {"spec": spec})

    def upgrade(self, version: str, name: str = "s") -> None:
        """Ask for another cluster."""
        self.change(name, rayClusterConfig={"rayVersion": version})

    def status(self, name: str = "s") -> dict[str, Any]:
        """What is said of a RayService; nothing when it is gone."""
        found: dict[str, Any] = (self.world.find(RAYSERVICE, name) or {}).get("status", {})
        return found

    def version(self, name: str = "s") -> str:
        """The version of a RayService, which moves with every write."""
        return str((self.world.find(RAYSERVICE, name) or {})["metadata"]["resourceVersion"])

    def condition(self, kind: str, name: str = "s") -> dict[str, Any]:
        """A condition of a RayService; nothing when it has none of this type."""
        found: list[dict[str, Any]] = self.status(name).get("conditions", [])
        return next((each for each in found if each["type"] == kind), {})

    def is_ready(self, name: str = "s") -> bool:
        """Whether its pods answer, and no upgrade runs."""
        ready, upgrading = self.condition("Ready", name), self.condition("UpgradeInProgress", name)
        return ready.get("status") == "True" and upgrading.get("status") == "False" and bool(self.active(name))

    def active(self, name: str = "s") -> str:
        """The cluster that serves."""
        return str(self.status(name).get("activeServiceStatus", {}).get("rayClusterName", ""))

    def pending(self, name: str = "s") -> str:
        """The cluster to come."""
        return str(self.status(name).get("pendingServiceStatus", {}).get("rayClusterName", ""))

    def clusters(self) -> set[str]:
        """The clusters that are there."""
        return {cluster["metadata"]["name"] for cluster in self.world.objects(RAYCLUSTER)}

    async def reach_ready(self, name: str = "s", *, limit_seconds: float = 120) -> None:
        """Wait until it serves."""
        await self.world.until(f"{name} is ready", lambda: self.is_ready(name), limit_seconds=limit_seconds)

    async def ask(self, method: str, url: str, body: bytes, limit_seconds: float) -> Reply:
        """Ask a dashboard or a proxy, and note what Serve took."""
        if url.endswith(HEALTH):
            address = url.removeprefix("http://").partition(":")[0]
            return Reply(503, b"", "text/plain") if address in self.sick else Reply(200, b"success", "text/plain")
        reply = await self.world.dashboards.request(method, url, body=body, limit_seconds=limit_seconds)
        if method == "PUT" and reply.status == 200:
            cluster = url.removeprefix("http://").partition(".")[0].removesuffix("-head-svc")
            self.puts[cluster] += 1
            broken = {"one": "DEPLOY_FAILED"} if self.broken else {}
            self.world.dashboards.of(cluster).application_status = broken
        return reply

    def told(self, cluster: str) -> set[str]:
        """The applications that Serve on a cluster was told to run."""
        config = self.world.dashboards.of(cluster).serve_config
        return {each["name"] for each in config.get("applications", ())}

    def _gateway(self, seat: Seat) -> Gateway:
        return Gateway(seat.means, NearTransport(self.ask, seat, self.world.dashboards), Setup(partitions=PARTITIONS))

    def _complaint(self, event: Event) -> str | None:
        if event.storage == ("discovery.k8s.io", "endpointslices"):
            return self._unserved(event)
        if event.storage == ("ray.io", "rayclusters"):
            return self._unnamed(event) if event.type == "ADDED" else self._deleted(event)
        return None

    def _unnamed(self, event: Event) -> str | None:
        """What must never be: a cluster beside the one that the status calls pending, so that there would be two."""
        meta = event.new["metadata"]
        owner = meta.get("labels", {}).get("ray.io/originated-from-cr-name", "")
        wanted = self.pending(owner)
        return (
            f"cluster {meta['name']} is made, but {wanted or 'nothing'} is pending" if meta["name"] != wanted else None
        )

    def _deleted(self, event: Event) -> str | None:
        """What must never be: a cluster that goes while it serves, unless a user or a suspension wants it."""
        before = event.old or {}
        begins = "deletionTimestamp" in event.new["metadata"] and "deletionTimestamp" not in before.get("metadata", {})
        is_going = event.type == "DELETED" or begins
        owner = event.new["metadata"].get("labels", {}).get("ray.io/originated-from-cr-name", "")
        service = self.world.find(RAYSERVICE, owner)
        if not is_going or service is None or "deletionTimestamp" in service["metadata"]:
            return None
        name = event.new["metadata"]["name"]
        return f"cluster {name} goes while it serves" if name == self.active(owner) and not self.excused else None

    def _unserved(self, event: Event) -> str | None:
        """What must never be: no endpoint behind a serve Service that had one, while nothing was made to fail."""
        is_serve = "ray.io/serve" in event.new["metadata"].get("labels", {}) and event.type == "MODIFIED"
        had = ready(event.old or {}) and not self._is_retired(event.new)
        if not is_serve or self.excused or ready(event.new) or not had:
            return None
        return f"nobody answers behind {event.new['metadata']['name']}"

    def _is_retired(self, slice_: Obj) -> bool:
        """Whether it leads to a cluster that was replaced, which goes with its pods."""
        of = slice_["metadata"].get("labels", {}).get(ENDPOINT_SLICE_SERVICE, "").removesuffix("-serve-svc")
        names = [service["metadata"]["name"] for service in self.world.objects(RAYSERVICE)]
        return of not in (*names, *map(self.active, names))

    excused = False  # the scenario itself takes clusters or endpoints away


Arm = crashing.Arm


def crashes(scenario: crashing.Scenario, *, write: int, applied: bool) -> bool:
    """Whether there was such a write of the first serve-reconciler; the scenario is played with a crash at it."""
    return crashing.crashes(scenario, RECONCILER, write=write, applied=applied)


def ready(slice_: Obj) -> int:
    """How many pods of an EndpointSlice answer."""
    return sum(1 for each in slice_.get("endpoints") or () if each["conditions"]["ready"])


def is_of(slice_: Obj, service: str) -> bool:
    """Whether an EndpointSlice belongs to a Service."""
    return bool(slice_["metadata"].get("labels", {}).get(ENDPOINT_SLICE_SERVICE) == service)


def lose_head(world: World, cluster: str) -> None:
    """The head pod of a cluster goes away."""
    [head] = [pod for pod in clusters.pods(world, cluster) if pod["metadata"]["labels"][NODE_TYPE] == HEAD]
    world.delete(POD, head["metadata"]["name"])
