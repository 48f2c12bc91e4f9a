"""RayJobs in a world: all services that run them, submitters, and what must be true of jobs at any moment."""

import asyncio
import contextlib
from collections import Counter
from typing import Any

import msgspec

from manta_common.dashboard.reports import TERMINAL
from manta_common.errors import Unreachable
from manta_common.kinds import JOB, POD, RAYCLUSTER, RAYJOB
from manta_common.kube.events import Recorder
from manta_common.plane import Shape
from manta_common.telemetry.names import PASSES
from manta_dashboard_gateway.gateway import Gateway, Setup
from manta_embedded.sim.dashboards import Reply
from manta_embedded.sim.nodes import PodScript
from manta_embedded.sim.service import Seat
from manta_embedded.sim.submitters import Submitters
from manta_embedded.sim.world import World
from manta_embedded.store.changes import Event
from manta_embedded.store.objects import Obj
from manta_job_reconciler.observed import JobSettings
from manta_job_reconciler.reconcile import JobService
from tests.examples import manifests
from tests.model import clusters
from tests.model.clusters import PARTITIONS
from tests.model.seats import NearTransport, Seated

ENDED = ("Complete", "Failed")
SUCCEEDS, FAILS, LASTS = "sleep 4", "sleep 4; exit 1", "sleep 100000"


class Process(Seated):
    """The job-reconciler as its main function runs it."""

    def __init__(self, seat: Seat, settings: JobSettings) -> None:
        recorder, self.metrics = Recorder(seat.kube, seat.name), seat.means.metrics
        self.service = JobService(seat.kube, seat.means, settings, recorder, Shape(partitions=PARTITIONS))
        super().__init__(recorder, self.service.plane)


class Scene:
    """A world with all that RayJobs need, and a book of what was submitted."""

    def __init__(self, world: World, *, replicas: int = 1, settings: JobSettings | None = None) -> None:
        self.world = world
        self.submitted: Counter[tuple[str, str]] = Counter()  # by job id and head pod
        self._ended: dict[str, Any] = {}
        self._reconcilers: list[Process] = []
        clusters.begin(world, replicas=replicas)
        for number in range(1, replicas + 1):
            world.start(f"gateway-{number}", self._gateway)
            world.start(f"jobs-{number}", lambda seat: self._reconciler(seat, settings or JobSettings()))
        world.nodes.rule(self._submitter)
        world.nodes.rule(Submitters(lambda method, url, body: self.ask(method, url, body, 10)).beside)
        world.always(self._complaint)

    def make(self, name: str = "a", mode: str = "HTTPMode", **spec: Any) -> None:
        """A job whose cluster has a head only."""
        cluster = {**manifests.CLUSTER, "workerGroupSpecs": []}
        own = {} if "clusterSelector" in spec else {"rayClusterSpec": cluster}
        body = {"submissionMode": mode, "entrypoint": SUCCEEDS, **own, **spec}
        self.world.create(RAYJOB, {"metadata": {"name": name}, "spec": body})

    def change(self, name: str = "a", **spec: Any) -> None:
        """Change a job's spec."""
        self.world.patch(RAYJOB, name, {"spec": spec})

    def status(self, name: str = "a") -> dict[str, Any]:
        """What is said of a job; nothing when it is gone."""
        found: dict[str, Any] = (self.world.find(RAYJOB, name) or {}).get("status", {})
        return found

    def state(self, name: str = "a") -> str:
        """How far a job has come."""
        return str(self.status(name).get("jobDeploymentStatus", ""))

    @property
    def passes(self) -> float:
        """How many passes there were for jobs."""
        counts = (process.metrics.numbers(PASSES).samples() for process in self._reconcilers)
        return sum(number for samples in counts for _, _, number in samples)

    async def reach(self, state: str, name: str = "a", *, limit_seconds: float = 120) -> None:
        """Wait until a job has come so far."""
        await self.world.until(f"{name} is {state}", lambda: self.state(name) == state, limit_seconds=limit_seconds)

    async def ask(self, method: str, url: str, body: bytes, limit_seconds: float) -> Reply:
        """Ask a dashboard, and note what it took."""
        reply = await self.world.dashboards.request(method, url, body=body, limit_seconds=limit_seconds)
        if method == "POST" and url.endswith("/api/jobs/") and reply.status == 200:
            host = url.removeprefix("http://").partition(":")[0]
            self.submitted[(msgspec.json.decode(body)["submission_id"], self._head(host))] += 1
        return reply

    def check_order(self) -> None:
        """Nothing was submitted twice to one head, and no cluster is there that no job names."""
        assert all(count == 1 for count in self.submitted.values()), self.submitted
        named = {self.status(job["metadata"]["name"]).get("rayClusterName") for job in self.world.objects(RAYJOB)}
        left = {cluster["metadata"]["name"] for cluster in self.world.objects(RAYCLUSTER)}
        assert left <= named | {"shared"}, left

    def _reconciler(self, seat: Seat, settings: JobSettings) -> Process:
        self._reconcilers.append(Process(seat, settings))
        return self._reconcilers[-1]

    def _gateway(self, seat: Seat) -> Gateway:
        return Gateway(seat.means, NearTransport(self.ask, seat, self.world.dashboards), Setup(partitions=PARTITIONS))

    def _head(self, host: str) -> str:
        name = host.partition(".")[0].removesuffix("-head-svc")
        heads = [
            pod
            for pod in self.world.objects(POD)
            if pod["metadata"].get("labels", {}).get("ray.io/node-type") == "head"
            and (pod["metadata"]["labels"]["ray.io/cluster"] == name or pod["status"].get("podIP") == host)
        ]
        return ",".join(pod["metadata"]["uid"] for pod in heads if "deletionTimestamp" not in pod["metadata"])

    def _submitter(self, pod: Obj) -> PodScript | None:
        is_ours = "ray.io/originated-from-cr-name" in (pod["metadata"].get("labels") or {})
        has_job = any(owner["kind"] == JOB.kind for owner in pod["metadata"].get("ownerReferences") or ())
        return PodScript(program=self._submit) if is_ours and has_job else None

    async def _submit(self, pod: Obj) -> int:
        """What the submitter's shell command does."""
        variables = {one["name"]: one.get("value", "") for one in pod["spec"]["containers"][0]["env"]}
        url, job_id = f"http://{variables['RAY_DASHBOARD_ADDRESS']}/api/jobs/", variables["RAY_JOB_SUBMISSION_ID"]
        entrypoint = pod["spec"]["containers"][0]["args"][0].rpartition(" -- ")[2].partition(" ; fi ;")[0]
        body = msgspec.json.encode({"submission_id": job_id, "entrypoint": entrypoint})
        while True:
            with contextlib.suppress(Unreachable):  # it asks again, as the shell's loop does
                reply = await self.ask("GET", f"{url}{job_id}", b"", 10)
                if reply.status == 404:
                    await self.ask("POST", url, body, 10)
                elif msgspec.json.decode(reply.body)["status"] in TERMINAL:
                    return 0
            await asyncio.sleep(1)

    def _complaint(self, event: Event) -> str | None:
        """What must never be: an end that is taken back."""
        uid, status = event.new["metadata"]["uid"], event.new.get("status", {})
        state = status.get("jobDeploymentStatus")
        if event.storage != ("ray.io", "rayjobs") or state == "ValidationFailed":
            return None
        end = state, status.get("jobStatus"), status.get("endTime")
        before = self._ended.setdefault(uid, end) if state in ENDED else self._ended.get(uid, end)
        return f"{before} became {end}" if before != end else None
