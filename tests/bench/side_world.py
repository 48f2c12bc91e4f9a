"""One side of a comparison at work in a namespace of its own, and what the work costs."""

import contextlib
import pathlib
import secrets
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

from manta_common.kinds import RAYJOB, RAYSERVICE, Kind
from manta_common.kube.protocol import MergePatch
from tests.bench.beforehand import Calm
from tests.bench.cluster_api import Api, run
from tests.bench.cluster_sides import Side, cpu_seconds
from tests.bench.side_operators import operator
from tests.bench.side_plane import SidePlane
from tests.bench.side_results import Numbers
from tests.parts.process import wait_until
from tests.parts.stub_dashboard import StubDashboard
from tests.parts.stub_serves import StubServes

WRITES = ("create", "update", "patch", "delete", "deletecollection")
CLEANING_SECONDS = 600
HELD: Sequence[Kind] = (RAYJOB, RAYSERVICE)  # kinds that both operators give a finalizer
OVER = "over"  # a measurement that was given up at the limit
T = TypeVar("T")
Steps = Callable[[Api], Coroutine[Any, Any, T]]


class World:
    """A namespace, who looks after it, and the dashboards of all its clusters."""

    def __init__(self, plane: SidePlane, namespace: str, side: Side, limit_seconds: float) -> None:
        self.plane, self.namespace, self.side, self.limit_seconds = plane, namespace, side, limit_seconds
        self.jobs: StubDashboard
        self.serves: StubServes

    @property
    def raw(self) -> bool:
        """Whether nobody looks after the namespace."""
        return not self.side.processes

    def run(self, steps: Steps[T]) -> T:
        """Take some steps in the namespace, within the limit."""
        return run(self.plane, self.namespace, steps, limit_seconds=self.limit_seconds)

    def measure(self, steps: Steps[Numbers], *, prefix: str = "") -> Numbers:
        """What some steps measured, and what they cost; over the limit, the limit."""
        before = self._spent()
        asked = self.plane.asked()
        try:
            found = self.run(steps)
        except TimeoutError:
            found = {"seconds": self.limit_seconds, OVER: 1}
        after = self._spent()
        costs = {name: after[name] - before[name] for name in after}
        requests = {} if self.raw else requested(self.plane.requests(asked))
        whole = found | costs | requests | self._memory()
        return {f"{prefix}{name}": value for name, value in whole.items()}

    def _spent(self) -> Numbers:
        """CPU seconds until now, of the operator, each of its processes and the API server."""
        shares = {f"cpu {name}": seconds for name, seconds in self.side.shares().items()}
        whole = {"cpu_seconds": self.side.cpu_seconds()} if shares else {}
        return shares | whole | {"api_cpu_seconds": cpu_seconds(self.plane.api_server.pid)}

    def _memory(self) -> Numbers:
        """The most memory until now."""
        shares = self.side.mib()
        whole = {"peak_mib": sum(shares.values())} if shares else {}
        return whole | {f"mib {name}": amount for name, amount in shares.items()}


def requested(verbs: dict[str, int]) -> Numbers:
    """Requests of an operator by verb, and how many of them read and write."""
    writes = sum(count for verb, count in verbs.items() if verb in WRITES)
    sums = {"requests": sum(verbs.values()), "writes": writes, "reads": sum(verbs.values()) - writes}
    return {name: float(count) for name, count in (sums | {f"verb {verb}": n for verb, n in verbs.items()}).items()}


Measure = Callable[[World], Numbers]


@contextlib.contextmanager
def world(
    plane: SidePlane, side: str, folder: pathlib.Path, *, dashboards: str, limit_seconds: float, last: bool
) -> Iterator[World]:
    """A side at work in a fresh namespace, of which nothing is left, unless it is the last on this control plane."""
    wait_until("the API server is at rest", Calm(plane.api_server.pid), limit_seconds=CLEANING_SECONDS)
    namespace = f"side-{secrets.token_hex(3)}"
    plane.request("POST", "api/v1/namespaces", {"metadata": {"name": namespace}})
    with contextlib.ExitStack() as stack:
        jobs, serves = StubDashboard.start(), StubServes.start()
        stack.callback(jobs.stop)
        stack.callback(serves.stop)
        addresses = {"": "", "jobs": jobs.dashboard_url.removeprefix("http://"), "serves": serves.address}
        started = stack.enter_context(operator(side)(plane, namespace, folder, addresses[dashboards]))
        found = World(plane, namespace, started, limit_seconds)
        found.jobs, found.serves = jobs, serves
        yield found
    if not last:
        run(plane, namespace, clean, limit_seconds=CLEANING_SECONDS)


async def clean(api: Api) -> None:
    """Leave nothing of a namespace; nobody is there any more who would take the finalizers away."""
    for kind in HELD:
        await api.patch_many(kind, await api.names(kind), MergePatch({"metadata": {"finalizers": None}}))
    await api.delete_namespace()
