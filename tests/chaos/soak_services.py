"""Manta's services for a soak: two processes of each, one of which is killed again and again, and the other never."""

import pathlib
import sys
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from manta_cluster_reconciler.reconcile import ClusterService
from manta_common.feed import Source
from manta_dashboard_gateway.gateway import Gateway
from manta_dashboard_gateway.seen import SOURCES
from manta_janitor.clusters import FadingService
from manta_janitor.history import HistoryService
from manta_janitor.jobs import EndingService
from manta_janitor.picked import Picked
from manta_job_reconciler.observe import CLUSTERS
from manta_job_reconciler.observe import SERVICES as HEAD_SERVICES
from manta_job_reconciler.reconcile import JobService
from manta_serve_reconciler.reconcile import ServeService
from tests.bench.side_growth import rss_mib
from tests.chaos.soak_feed import ALL, SOME, WIDE, Followed, Page
from tests.chaos.soak_memory import Living
from tests.parts.control_plane import ControlPlane
from tests.parts.patience import patient
from tests.parts.ports import free_port
from tests.parts.process import Process

MANTA = str(pathlib.Path(sys.executable).parent / "manta")
PAGE_SECONDS = 30
READY_SECONDS = 60
WATCHER: Final = "watcher"
SERVICES: Final = (
    WATCHER,
    "cluster-reconciler",
    "job-reconciler",
    "serve-reconciler",
    "dashboard-gateway",
    "janitor",
)
SURVIVOR, VICTIM = "survivor", "victim"
PLANES = (ClusterService, JobService, ServeService, Gateway, EndingService, FadingService, HistoryService)
WIDE_SOURCES: Final[dict[str, Iterable[Source[Any]]]] = {
    JobService.name: (CLUSTERS, HEAD_SERVICES),
    Gateway.name: SOURCES,
}
FOLLOWED: Final[Followed] = {
    plane.name: {
        **{source.word: SOME if isinstance(source, Picked) else source.family or ALL for source in plane.sources},
        **{f"{source.word}{WIDE}": ALL for source in WIDE_SOURCES.get(plane.name, ())},
    }
    for plane in PLANES
}


class Replica:
    """One process of one service."""

    def __init__(self, service: str, role: str, folder: pathlib.Path, environment: Mapping[str, str]) -> None:
        self.service, self.port = service, free_port()
        name, own = f"{service}-{role}", {**environment, "MANTA_HTTP_ADDRESS": f"127.0.0.1:{self.port}"}
        self.process = Process(name, [MANTA, "run", service], folder / f"{name}.log", environment=own)

    def start(self) -> None:
        """Start it, and wait until it says that it is ready."""
        self.process.start()
        self.process.wait_until("it is ready", lambda: self._answers("readyz"), limit_seconds=READY_SECONDS)

    @property
    def mib(self) -> float:
        """The memory that it takes now."""
        return rss_mib(self.process.pid)

    def objects(self) -> Page:
        """What it knows."""
        if self.service == WATCHER:
            return {}  # it keeps in mind what stands in the stream, and that is looked at
        found: dict[str, Page] = self._page("objects")
        return found[self.service]

    def state(self) -> dict[str, Any]:
        """What it does."""
        found: dict[str, dict[str, Any]] = self._page("state")
        return found[self.service]

    def living(self) -> Living:
        """What lives in it."""
        return msgspec.convert(self._page("living"), Living)

    def _page(self, name: str) -> Any:
        return msgspec.json.decode(self._get(f"debug/{name}"))

    def _answers(self, path: str) -> bool:
        try:
            self._get(path)
        except OSError:
            return False
        return True

    def _get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=patient(PAGE_SECONDS)) as answer:
            body: bytes = answer.read()
        return body


class Fleet:
    """All replicas, for one namespace, one NATS and one address of all dashboards."""

    def __init__(self, plane: ControlPlane, namespace: str, *, nats_url: str, dashboards: str) -> None:
        folder = plane.folder / namespace
        folder.mkdir()
        environment = {
            "MANTA_KUBECONFIG": str(plane.kubeconfig),
            "MANTA_NATS_URLS": nats_url,
            "MANTA_WATCH_NAMESPACES": namespace,
            "MANTA_DASHBOARD_GATEWAY_REACH": dashboards,
            "MANTA_JOB_RECONCILER_DELAY_RETRIES": "false",
        }
        self.survivors = {name: Replica(name, SURVIVOR, folder, environment) for name in SERVICES}
        self.victims = {name: Replica(name, VICTIM, folder, environment) for name in SERVICES}

    def __iter__(self) -> Iterator[Replica]:
        """Those that run."""
        everyone = (*self.survivors.values(), *self.victims.values())
        return (replica for replica in everyone if replica.process.alive)

    def end(self) -> None:
        """End all of them at once."""
        for replica in self:
            replica.process.kill()

    def tail(self) -> str:
        """The ends of the logs."""
        return "\n".join(f"--- {one.process.name}\n{one.process.tail(6)}" for one in self)
