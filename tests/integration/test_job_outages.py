"""A gateway, a NATS or an API server that is away for a while costs jobs time and nothing else, with real parts.

How long an outage lasts is told by facts: until those who need what is away have noticed, most of them several times.
Outages of a minute are played in virtual time (`tests/model/test_job_outages.py`).
"""

import collections
import contextlib
import dataclasses
import functools
import json
import pathlib
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from aiohttp import web

from tests.integration.job_world import LIMIT_SECONDS, MANTA, Jobs, Json
from tests.parts.control_plane import ControlPlane
from tests.parts.fault_proxy import Fault
from tests.parts.nats import Nats
from tests.parts.ports import free_port
from tests.parts.process import Process
from tests.parts.registry import Parts
from tests.parts.stub_dashboard import StubDashboard

SERVICES = ("watcher", "cluster-reconciler", "job-reconciler", "dashboard-gateway", "janitor")
TRIES = 3
LASTS = "sleep 100000"
SUBMISSION = "POST /api/jobs/"
LOOKS = ("GET /api/jobs/", "GET /api/jobs/{id}")
STATES = ["", "Initializing", "Running", "Complete"]
RAY_STATES = ["", "PENDING", "RUNNING", "SUCCEEDED"]


@dataclasses.dataclass
class Away(Fault):
    """Nobody reaches the API server; who tried how often."""

    status: int = 503
    tries: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def strikes(self, request: web.Request) -> bool:
        """Every request is hit."""
        service = request.headers.get("User-Agent", "").partition("(")[2].removesuffix(")")
        self.tries[service] += 1
        return super().strikes(request)


class World(Jobs):
    """A namespace whose RayJobs are looked after by one process for each service, behind the fault proxy."""

    def __init__(
        self, plane: ControlPlane, namespace: str, *, nats: Nats, stub: StubDashboard, folder: pathlib.Path
    ) -> None:
        super().__init__(plane, namespace)
        self.nats, self.stub = nats, stub
        self.services = {name: self._service(name, folder) for name in SERVICES}

    def _service(self, name: str, folder: pathlib.Path) -> Process:
        settings = {
            "MANTA_KUBECONFIG": str(self.plane.proxy_kubeconfig),
            "MANTA_NATS_URLS": self.nats.url,
            "MANTA_WATCH_NAMESPACES": self.namespace,
            "MANTA_HTTP_ADDRESS": f"127.0.0.1:{free_port()}",
        }
        if name == "dashboard-gateway":
            settings["MANTA_DASHBOARD_GATEWAY_REACH"] = self.stub.dashboard_url.removeprefix("http://")
        return Process(name, [MANTA, "run", name], folder / f"{name}.log", environment=settings)

    def said(self, service: str, message: str) -> int:
        """How often a service has logged something."""
        return self.services[service].log.read_text().count(f'"{message}"')

    def says_again(self, service: str, message: str) -> Callable[[], bool]:
        """Whether a service says something several times from now on."""
        before = self.said(service, message)
        return lambda: self.said(service, message) >= before + TRIES

    def runs(self, name: str) -> bool:
        """Whether Ray runs a job, as its status says."""
        status = self.status(name)
        return (status.get("jobDeploymentStatus"), status.get("jobStatus")) == ("Running", "RUNNING")

    def looks_again(self) -> Callable[[], bool]:
        """Whether the dashboard is asked for jobs from now on."""
        before = self._looks
        return lambda: self._looks > before

    @property
    def _looks(self) -> int:
        return sum(self.stub.calls[call] for call in LOOKS)

    def is_gone(self, cluster: str) -> bool:
        """Whether nothing is left of a cluster."""
        return self.find("rayclusters", cluster) is None and not self.pods(f"ray.io/cluster={cluster}")

    def version(self) -> str:
        """The version of all RayJobs."""
        found: str = self.plane.request("GET", self.path("rayjobs"))["metadata"]["resourceVersion"]
        return found

    def told(self, since: str, names: set[str]) -> dict[str, list[Json]]:
        """All that was ever said of jobs since a version, until each of them is complete."""
        query = f"watch=true&timeoutSeconds={LIMIT_SECONDS}&resourceVersion={since}"
        request = urllib.request.Request(f"{self.plane.server}/{self.path('rayjobs')}?{query}")
        request.add_header("Authorization", f"Bearer {self.plane.token}")
        found: dict[str, list[Json]] = {name: [] for name in names}
        with urllib.request.urlopen(request, context=self.plane.tls, timeout=LIMIT_SECONDS) as lines:
            for line in lines:
                job = json.loads(line)["object"]
                if job["metadata"].get("name") in names:
                    found[job["metadata"]["name"]].append(job.get("status", {}))
                if all(said and said[-1].get("jobDeploymentStatus") == "Complete" for said in found.values()):
                    return found
        raise AssertionError(f"not all of {names} were said to be complete")


@pytest.fixture(scope="module")
def outage_nats(parts: Parts, parts_folder: pathlib.Path) -> Iterator[Nats]:
    """A NATS that may be killed."""
    yield from parts.obtain("outage_nats", lambda: Nats.start_own(parts_folder))


@pytest.fixture(scope="module")
def jobs(
    control_plane: ControlPlane,
    ray_crds: None,
    outage_nats: Nats,
    stub: StubDashboard,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    with control_plane.fresh_namespace("outages") as name, contextlib.ExitStack() as stack:
        stack.callback(control_plane.proxy.clear)
        world = World(control_plane, name, nats=outage_nats, stub=stub, folder=tmp_path_factory.mktemp("outages"))
        for process in world.services.values():
            process.start()
            stack.callback(process.kill)
        yield world


@contextlib.contextmanager
def without_gateway(world: World, new: str) -> Iterator[Callable[[], bool]]:
    """Nobody talks to dashboards: the new job cannot be submitted, and says so."""
    process = world.services["dashboard-gateway"]
    process.kill()
    yield lambda: any("could not be submitted" in each["message"] for each in world.status(new).get("conditions", ()))
    process.start()


@contextlib.contextmanager
def without_nats(world: World, new: str) -> Iterator[Callable[[], bool]]:
    """No service hears of any other."""
    world.nats.kill()
    tries = [world.says_again(name, "nats is still away") for name in SERVICES]
    yield lambda: all(tried() for tried in tries)
    world.nats.up()


@contextlib.contextmanager
def without_api_server(world: World, new: str) -> Iterator[Callable[[], bool]]:
    """Nothing can be seen or written: the watcher wants to see, the job-reconciler to write that a job has ended."""
    away = Away()
    world.plane.proxy.inject(away)
    world.plane.proxy.drop_watches()
    yield lambda: all(away.tries[name] >= TRIES for name in ("watcher", "job-reconciler"))
    world.plane.proxy.clear()


OUTAGES = [without_gateway, without_nats, without_api_server]


@pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: outage.__name__)
def test_an_outage_costs_jobs_time_and_nothing_else(
    jobs: World, outage: Callable[[World, str], contextlib.AbstractContextManager[Callable[[], bool]]]
) -> None:
    """One job runs before, and ends meanwhile; another one is made meanwhile."""
    stem = outage.__name__.replace("_", "-")
    old, new = f"{stem}-old", f"{stem}-new"
    submissions, since = jobs.stub.calls[SUBMISSION], jobs.version()
    jobs.make(old, entrypoint=LASTS, shutdownAfterJobFinishes=True)
    jobs.until("it runs", functools.partial(jobs.runs, old))
    jobs.until("the gateway has heard of that and looks after it", jobs.looks_again())
    with outage(jobs, new) as is_noticed:
        jobs.stub.end(jobs.status(old)["jobId"], "SUCCEEDED")
        jobs.make(new, entrypoint="sleep 0", shutdownAfterJobFinishes=True)
        jobs.until("everybody has noticed", is_noticed)
        assert jobs.runs(old), "what nobody could learn is not said"
        assert jobs.stub.calls[SUBMISSION] == submissions + 1
    for name in (old, new):
        status = jobs.reach(name, "Complete")
        assert (status["jobStatus"], status["succeeded"], status["failed"]) == ("SUCCEEDED", 1, 0)
        jobs.until("nothing is left of its cluster", functools.partial(jobs.is_gone, status["rayClusterName"]))
    assert jobs.stub.calls[SUBMISSION] == submissions + 2, "each job is submitted once"
    for said in jobs.told(since, {old, new}).values():
        assert in_order([each.get("jobDeploymentStatus", "") for each in said], STATES)
        assert in_order([each.get("jobStatus", "") for each in said], RAY_STATES)
        assert not any(each.get("failed") or each.get("reason") for each in said)


def in_order(found: list[str], states: list[str]) -> bool:
    """Whether states only ever go on, and are no others than these."""
    return found == sorted(found, key=states.index)
