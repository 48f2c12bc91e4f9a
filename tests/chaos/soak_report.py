"""What a soak has measured: one table, and what is wrong with it."""

from collections.abc import Iterator, Mapping
from typing import Final

from tests.bench.side_table import table
from tests.chaos.soak_bus import Bus
from tests.chaos.soak_kills import Reaper, Sampler
from tests.chaos.soak_memory import Course, Living, course
from tests.chaos.soak_services import WATCHER
from tests.chaos.soak_sockets import connections
from tests.chaos.soak_users import Users
from tests.chaos.soak_world import World

MOST_TO_API: Final = 64 + 10  # the pool of a service, and a watch for each scope of the watcher
MOST_TO_NATS: Final = 2  # while a connection that was no good is closed, and another one made
KIB: Final = 1024.0
TOMBSTONE_KIB: Final = 0.75  # what a watcher keeps in mind of each until it expires
HEAD: Final = (
    *("service", "MiB first", "MiB last", "MiB a minute", "noise", "tasks", "objects"),
    *("to the API server, at most", "to NATS, at most", "to dashboards, at most"),
)


class Report:
    """Numbers of the survivors, from the time on when everything was there."""

    def __init__(self, sampler: Sampler, *, steady_at: float, seconds: float, before: Mapping[str, Living]) -> None:
        self._sampler, self._steady_at, self._seconds = sampler, steady_at, seconds
        self.before, self.after = before, dict[str, Living]()
        self._said = ""
        self._ports = (0, 0, 0)
        self._calm: dict[str, int] = {}  # connections to NATS when all is quiet
        self._tombstones = 0
        self._dashboards = 0

    def note(self, world: World, users: Users, reaper: Reaper, bus: Bus) -> None:
        """What is only known while it is there."""
        self._ports = (world.plane.port, world.nats.address[1], int(world.dashboards.dashboard_url.rpartition(":")[2]))
        self._tombstones, self._dashboards = bus.tombstones, users.plan.size.clusters
        pids = {name: replica.process.pid for name, replica in world.fleet.survivors.items()}
        self._calm = {name: connections(pid)[world.nats.address[1]] for name, pid in pids.items()}
        deaths = ", ".join(f"{name} {count}" for name, count in sorted(reaper.deaths.items()))
        self._said = (
            f"{self._seconds / 60:g} minutes, {users.deeds} deeds of users, {len(users.plan.jobs)} jobs in all,"
            f" {sum(world.dashboards.taken.values())} submissions, {bus.tombstones} tombstones; deaths: {deaths}"
        )

    def told(self) -> str:
        """A table."""
        return f"\n{self._said}\n{table(HEAD, [self._line(name) for name in self.before])}"

    def complaints(self) -> list[str]:
        """What is wrong."""
        return [said for name in self.before for said in self._of(name)]

    def _course(self, name: str) -> Course:
        return course([one for one in self._sampler.mib[name] if one[0] >= self._steady_at])

    def _line(self, name: str) -> tuple[str, ...]:
        found, api, nats, dashboards = self._course(name), *self._connections(name)
        before, after = self.before[name], self.after[name]
        return (
            name,
            *(f"{mib:.1f}" for mib in (found.first_mib, found.last_mib)),
            f"{found.mib_per_minute:+.2f}",
            f"{found.noise_mib:.2f}",
            f"{sum(before.tasks.values())} → {sum(after.tasks.values())}",
            f"{before.objects} → {after.objects}",
            *map(str, (api, nats, dashboards)),
        )

    def _connections(self, name: str) -> tuple[int, int, int]:
        api, nats, dashboards = (self._sampler.most[name][port] for port in self._ports)
        return api, nats, dashboards

    def _of(self, name: str) -> Iterator[str]:
        found, (api, nats, dashboards) = self._course(name), self._connections(name)
        allowed_mib = self._tombstones * TOMBSTONE_KIB / KIB if name == WATCHER else 0.0
        if not found.is_flat(allowed_mib):
            yield f"{name} grew by {found.growth_mib:.1f} MiB, at most {found.limit_mib(allowed_mib):.1f} are noise"
        if self._calm[name] != 1 or nats > MOST_TO_NATS:
            yield f"{name} has {self._calm[name]} connections to NATS, not 1, and had {nats}"
        if api > MOST_TO_API:
            yield f"{name} had {api} connections to the API server, {MOST_TO_API} at most are meant"
        if dashboards > (self._dashboards if name == "dashboard-gateway" else 0):
            yield f"{name} had {dashboards} connections to dashboards"
