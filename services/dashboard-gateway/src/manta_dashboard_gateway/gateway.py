"""The gateway: follows what the feed shows, polls, says what is new, and answers calls."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from manta_common.dashboard.calls import SERVICE
from manta_common.errors import MantaError, NotCaughtUp
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.ownership.settings import Times as OwnershipTimes
from manta_common.partitions import PARTITIONS
from manta_common.plane import Item, Means, Plane, Shape, Wide
from manta_common.store import Held
from manta_common.worker import Pace as WorkerPace
from manta_dashboard_gateway.cache import Cache
from manta_dashboard_gateway.commands import Commands
from manta_dashboard_gateway.dashboards import Dashboards
from manta_dashboard_gateway.follow import Followed, followed
from manta_dashboard_gateway.orphans import Orphans
from manta_dashboard_gateway.pace import Pace
from manta_dashboard_gateway.places import Target, Ways
from manta_dashboard_gateway.poll import Poll
from manta_dashboard_gateway.polls import Polls, Times
from manta_dashboard_gateway.publisher import Publisher
from manta_dashboard_gateway.ray.dashboard import Dashboard
from manta_dashboard_gateway.ray.proxy import Asking, HeadProxy
from manta_dashboard_gateway.ray.transport import Transport
from manta_dashboard_gateway.rounds import Limits
from manta_dashboard_gateway.seen import (
    BY_CLUSTER,
    CLUSTERS,
    JOB_REPORTS,
    JOBS,
    RAYSERVICES,
    SERVICES,
    SOURCES,
    cluster_of,
)
from manta_dashboard_gateway.telemetry import GatewayMetrics

NAME = "dashboard-gateway"
LOOK_SECONDS = 0.1
# The pollers are not bounded here, so that hung dashboards cannot fill it: the transport bounds requests by lanes.
UNBOUNDED = WorkerPace(concurrency=1_000_000, longest_delay_seconds=5)
log = logging.getLogger(__name__)


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """How a gateway is set up; the defaults are those of an installation."""

    ways: Ways = Ways()
    pace: Pace = Pace()
    limits: Limits = Limits()
    partitions: int = PARTITIONS
    times: OwnershipTimes = OwnershipTimes()
    sweep_seconds: float = 30.0


class Gateway:
    """One replica. It polls the clusters of its partitions and answers calls for all."""

    name = NAME
    sources: Sequence[Source[Any]] = (CLUSTERS,)

    def __init__(self, means: Means, transport: Transport, setup: Setup | None = None) -> None:
        self._means, self._transport, self._setup = means, transport, setup or Setup()
        self.metrics = GatewayMetrics(means.metrics)
        monotonic = means.clock.monotonic
        self._publisher = Publisher(means.bus, monotonic, means.tracing, told=self.metrics.reported)
        answers = Cache[tuple[str, str], Any](monotonic)
        self.dashboards = Dashboards(self._setup.ways, self._made, self._made_proxy)
        times = Times(now=means.now, clock=means.clock, chance=means.chance, pace=self._setup.pace)
        self.polls = Polls(self._publisher, answers, times, self._setup.limits)
        shape = Shape(partitions=self._setup.partitions, times=self._setup.times, pace=UNBOUNDED)
        self.plane = Plane(means, self, shape, wide=Wide(sources=SOURCES, marks=self._marks_of))
        self.commands = Commands(lambda: self.plane.everywhere, self.dashboards, answers, self._deployed)
        self._changed: set[Key] = set()  # clusters of which the feed showed something since they were last looked at
        self._orphans = Orphans(self._publisher, self.plane.owner.may_act)
        self._stopping = False
        self.answering = False
        self._watch()

    async def run(self) -> None:
        """Work until `stop`."""
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(self._answer_calls()), group.create_task(self._sweep_for_ever())]
            await self.plane.run()
            for task in beside:
                task.cancel()

    def stop(self) -> None:
        """Hand everything over, and let `run` return; no dashboard is waited for, however slow it is."""
        self._stopping = True
        self._transport.give_up()
        self.plane.stop()

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """A cluster is about itself."""
        self._changed.add(held.key)
        return [held.key]

    async def settle(self, item: Item) -> None:
        """Poll a cluster if it is due; see to it that what was said before is still to be seen."""
        if self.plane.view_of(item) is None:
            raise NotCaughtUp("the view is not whole yet")
        poll = self._poll(item)
        if poll is None:
            return
        late_seconds = self.polls.late_seconds(poll)
        if late_seconds >= 0:
            self.metrics.late(late_seconds)
            await self.polls.ask(poll, self.plane.everywhere)
        if self._stopping:
            raise NotCaughtUp("what a dashboard said to somebody who was leaving does not count")
        if self.polls.is_unsaid(poll, self.plane.everywhere):
            self.plane.require(item)
            await self.polls.say(poll, self.plane.everywhere)
        self.plane.worker.recheck(item, self._means.now() - timedelta(seconds=self.polls.late_seconds(poll)))

    def shown(self) -> list[dict[str, object]]:
        """What `/debug/clusters` says."""
        return [
            {
                "cluster": str(poll.dashboard.target.cluster),
                "address": poll.dashboard.target.address or poll.dashboard.target.path,
                "breaker": poll.dashboard.breaker,
                "failures": poll.dashboard.course.failures,
                "last_error": poll.dashboard.last_error,
                "due_in_seconds": round(-self.polls.late_seconds(poll), 1),
                "jobs": {
                    str(job.key): {
                        "id": job.job_id,
                        "status": report.status,
                        "trouble": report.trouble and report.trouble.kind,
                    }
                    for job, report in poll.jobs.items()
                },
                "serve": poll.followed.serve and _serve_shown(poll),
            }
            for poll in self.followed
        ]

    @property
    def followed(self) -> list[Poll]:
        """The clusters that this replica polls."""
        held = self.plane.owner.held
        return [poll for poll in self.polls if poll.partition in held]

    def _made(self, target: Target) -> Dashboard:
        clock, pace = self._means.clock, self._setup.pace
        return Dashboard(target, self._transport, pace=pace, clock=clock, tell=self.metrics.asked)

    def _made_proxy(self, target: Target) -> HeadProxy:
        setup, tell = self._setup, self.metrics.asked
        asking = Asking(self._transport, setup.pace, self._means.clock, tell, setup.limits.proxy_seconds)
        return HeadProxy(target, asking)

    def _deployed(self, cluster: Key) -> None:
        """Serve was told what to run: see at once what it makes of it. Other replicas see the RayService change."""
        poll = self.polls.hurry(cluster)
        if poll:
            self.plane.worker.mark(Item(poll.partition, cluster))

    def _poll(self, item: Item) -> Poll | None:
        """The poll of a cluster as the feed wants it; it is worked out anew only when the feed showed something."""
        known = self.polls.find(item.key, item.partition)
        if known and item.key not in self._changed:
            return known
        self._changed.discard(item.key)
        view = self.plane.everywhere
        wanted = self._followed(view, item)
        if wanted:
            dashboard = self.dashboards.of(view, item.key)
            proxy = self.dashboards.proxy_of(view, item.key) if wanted.serve else None
            return self.polls.follow(dashboard, proxy, wanted, partition=item.partition)
        self.polls.forget(item.key)
        return None

    def _followed(self, view: View, item: Item) -> Followed:
        """What is to be followed of a cluster, if it stands in this partition."""
        cluster = view.of(CLUSTERS).held(item.key)
        if cluster is None or cluster.partition != item.partition:
            return Followed()
        jobs = view.of(JOBS)
        found = (jobs.held(job.metadata.key) for job in jobs.find(BY_CLUSTER, item.key))
        services = view.of(RAYSERVICES).find(BY_CLUSTER, item.key)
        return followed(cluster.object, [job for job in found if job], services)

    def _marks_of(self, word: str, held: Held[Any], view: View) -> Iterable[Key]:
        """The clusters that an object of any partition is about, if they stand in the partition of the view."""
        clusters = [cluster for cluster in self._clusters_of(word, held) if view.of(CLUSTERS).held(cluster)]
        self._changed.update(clusters)
        return clusters

    def _clusters_of(self, word: str, held: Held[Any]) -> Iterable[Key]:
        if word == JOBS.word:
            return (held.object.cluster,)
        if word == SERVICES.word:
            return (cluster_of(held.object),)
        if word == RAYSERVICES.word:
            return tuple(held.object.clusters)
        if word == JOB_REPORTS.word:
            job = self.plane.everywhere.of(JOBS).get(held.key)
            return (job.cluster,) if job else ()
        return (held.key,)

    async def _answer_calls(self) -> None:
        """Answer calls as soon as all clusters are known; until then other replicas do."""
        while not self._knows_all():
            await self._means.clock.sleep(LOOK_SECONDS)
        await self._means.bus.serve(SERVICE, self.commands.verbs())
        self.answering = True

    def _knows_all(self) -> bool:
        try:
            return self.plane.everywhere is not None
        except NotCaughtUp:
            return False

    async def _sweep_for_ever(self) -> None:
        """Forget what is no longer there or no longer ours."""
        while True:
            await self._means.clock.sleep(self._setup.sweep_seconds)
            try:
                view = self.plane.everywhere
                self.dashboards.prune(view)
                self.polls.keep(self.followed)
                await self._orphans.remove(view)
            except MantaError as error:
                log.warning("old reports are removed later", extra={"error": str(error)})

    def _watch(self) -> None:
        self.metrics.watch(
            followed=lambda: (len(self.followed), sum(len(poll.followed.jobs) for poll in self.followed)),
            breakers=lambda: (dashboard.breaker for dashboard in self.dashboards),
            connections=lambda: self._transport.connections,
            answers=lambda: self.commands.counts,
        )


def _serve_shown(poll: Poll) -> dict[str, object]:
    """What `/debug/clusters` says of Serve."""
    report = poll.serve
    return {
        "applications": {name: one.status for name, one in report.applications.items()} if report else {},
        "trouble": report and report.trouble and report.trouble.kind,
        "proxy": report and report.proxy and {"address": report.proxy.address, "healthy": report.proxy.healthy},
    }
