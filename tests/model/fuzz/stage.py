"""A world in which everything of Manta runs, and which notes what services complain of in their logs."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC

import msgspec

from manta_cluster_reconciler.rules import Rules
from manta_common.api.gates import Gates
from manta_common.keys import Key
from manta_common.kinds import GATEWAY, HTTPROUTE, Kind
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import MergePatch
from manta_common.plane import Shape
from manta_common.ray.settings import RaySettings
from manta_dashboard_gateway.gateway import Gateway, Setup
from manta_embedded.sim.dashboards import Reply
from manta_embedded.sim.endpoints import EndpointSlices
from manta_embedded.sim.nodes import PodScript
from manta_embedded.sim.service import Seat
from manta_embedded.sim.world import USER, World
from manta_embedded.store.changes import Event
from manta_embedded.store.objects import Obj
from manta_job_reconciler.observed import JobSettings
from manta_job_reconciler.schedules import CronService, CronSettings
from manta_serve_reconciler.observed import ServeSettings
from tests.model import clusters, endings, jobs, services
from tests.model.clusters import PARTITIONS
from tests.model.seats import NearTransport, Seated

TRUE = {"status": "True", "reason": "Told", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
WIDE = Gates(cron_job=True, sidecar_restart=True, network_policy=True, embedded_storage=True, history_server=True)
ROADS = {(kind.group, kind.plural): kind for kind in (GATEWAY, HTTPROUTE)}


class Schedules(Seated):
    """The part of the job-reconciler that looks after schedules."""

    def __init__(self, seat: Seat, settings: CronSettings) -> None:
        recorder, shape = Recorder(seat.kube, seat.name), Shape(partitions=PARTITIONS)
        super().__init__(recorder, CronService(seat.kube, seat.means, settings, recorder, shape).plane)


class Stage:
    """Everything of Manta, a controller for Gateways, and a book of what dashboards were told."""

    def __init__(self, world: World, gates: Gates) -> None:
        self.world, self.gates = world, gates
        self.submitted: Counter[tuple[str, str]] = Counter()  # by address and job id
        self.put_off: set[str] = set()  # namespaces in which clusters go later than anybody waits
        ray = RaySettings(gates=gates)
        self._slices = EndpointSlices(world.store, world.loop, world.chance)
        clusters.begin(world, rules=Rules(ray=ray))
        clusters.install(world, GATEWAY, HTTPROUTE)
        world.store.subscribe(self._take_up)
        world.nodes.script(PodScript(run_seconds=2), labels={"ray.io/node-type": "redis-cleanup"})
        world.start("gateway-1", self._gateway)
        world.start("jobs-1", lambda seat: jobs.Process(seat, JobSettings(ray=ray)))
        world.start("schedules-1", lambda seat: Schedules(seat, CronSettings(gates=gates, local=UTC)))
        world.start("serve-1", lambda seat: services.Process(seat, ServeSettings(ray=ray)))
        world.start("janitor-1", endings.Process)

    def _gateway(self, seat: Seat) -> Gateway:
        return Gateway(seat.means, NearTransport(self._ask, seat, self.world.dashboards), Setup(partitions=PARTITIONS))

    async def _ask(self, method: str, url: str, body: bytes, limit_seconds: float) -> Reply:
        """Ask a dashboard or a proxy; Ray refuses a configuration of Serve that has not its shape."""
        if url.endswith(services.HEALTH):
            return Reply(200, b"success", "text/plain")
        if method == "PUT" and not _has_shape(msgspec.json.decode(body)):
            return Reply(400, b"ValidationError: applications", "text/plain")
        reply = await self.world.dashboards.request(method, url, body=body, limit_seconds=limit_seconds)
        if method == "POST" and url.endswith("/api/jobs/") and reply.status == 200:
            self.submitted[url, msgspec.json.decode(body)["submission_id"]] += 1
        return reply

    def _take_up(self, event: Event) -> None:
        if event.type == "ADDED" and event.storage in ROADS:
            self.world.later(0.5, self._accept, ROADS[event.storage], event.new)

    def _accept(self, kind: Kind, found: Obj) -> None:
        """What a Gateway's controller does."""
        taken = [{"type": each, **TRUE} for each in ("Accepted", "Programmed", "ResolvedRefs")]
        parent = {"parentRef": {"name": "a-gateway"}, "controllerName": "x/y", "conditions": taken}
        status = {"conditions": taken} if kind is GATEWAY else {"parents": [parent]}
        key = Key(found["metadata"]["namespace"], found["metadata"]["name"])
        if self.world.store.find(kind, key) is not None:
            self.world.store.patch(kind, key, MergePatch({"status": status}), USER, subresource="status")


class Complaints(logging.Handler):
    """What services log from warnings upwards; an error, or a pass that crashes, ends the run."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.WARNING)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        """Put it into the history, where it stands among what was done."""
        facts = {name: getattr(record, name) for name in ("key", "error", "again_in_seconds") if hasattr(record, name)}
        error = record.exc_info[1] if record.exc_info else None
        because = f"{facts.get('error', '')}{f' {error!r}' if error else ''}"
        self._world.history.tell(_who(record), record.getMessage(), facts.get("key", ""), because)
        if record.levelno >= logging.ERROR:
            failure = AssertionError(f"{record.name} logs an error: {record.getMessage()} {facts}: {error!r}")
            failure.__cause__ = error
            self._world.fail(failure)


@contextmanager
def listening(world: World) -> Iterator[None]:
    """Have all complaints in the history while this lasts."""
    ear, root = Complaints(world), logging.getLogger()
    root.addHandler(ear)
    try:
        yield
    finally:
        root.removeHandler(ear)


def _who(record: logging.LogRecord) -> str:
    return f"log of {record.name.removeprefix('manta_').partition('.')[0]}"


def _has_shape(config: object) -> bool:
    applications = config.get("applications", []) if isinstance(config, dict) else None
    shaped = isinstance(applications, list) and all(
        isinstance(each, dict) and isinstance(each.get("import_path"), str) for each in applications
    )
    names = [each.get("name", "default") for each in applications or ()] if shaped else []
    return shaped and len(set(map(str, names))) == len(names) and all(isinstance(name, str) for name in names)
