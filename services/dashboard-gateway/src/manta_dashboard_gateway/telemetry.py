"""What the gateway counts."""

from collections.abc import Callable, Iterable

from manta_common.telemetry import names
from manta_common.telemetry.metrics import Registry
from manta_dashboard_gateway.pace import BREAKERS, Breaker


class GatewayMetrics:
    """The gateway's own numbers."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._requests = registry.numbers(names.DASHBOARD_REQUESTS)
        self._seconds = registry.distributions(names.DASHBOARD_REQUEST_SECONDS)
        self._reports = registry.numbers(names.DASHBOARD_REPORTS)
        self.late = registry.distributions(names.DASHBOARD_POLL_LAG_SECONDS).at().observe  # seconds

    def asked(self, call: str, outcome: str, seconds: float) -> None:
        """A request to a dashboard has ended."""
        self._requests.at(call, outcome).add()
        self._seconds.at(call).observe(seconds)

    def reported(self, outcome: str) -> None:
        """A report was published, or was not."""
        self._reports.at(outcome).add()

    def watch(
        self,
        *,
        followed: Callable[[], tuple[int, int]],
        breakers: Callable[[], Iterable[Breaker]],
        connections: Callable[[], int],
        answers: Callable[[], tuple[int, int, int]],
    ) -> None:
        """Show how much is followed, how the dashboards do, and what the cache saves."""
        self._registry.numbers(names.DASHBOARD_FOLLOWED).read_all(_labelled(names.FOLLOWED, followed))
        self._registry.numbers(names.DASHBOARD_CACHE).read_all(_labelled(names.CACHE_RESULTS, answers))
        self._registry.numbers(names.DASHBOARD_CONNECTIONS).read(connections)
        self._registry.numbers(names.DASHBOARD_BREAKERS).read_all(lambda: _counted(list(breakers())))


def _labelled(
    labels: Iterable[str], read: Callable[[], Iterable[float]]
) -> Callable[[], list[tuple[tuple[str], float]]]:
    return lambda: [((label,), number) for label, number in zip(labels, read(), strict=True)]


def _counted(states: list[Breaker]) -> list[tuple[tuple[str], float]]:
    return [((state,), states.count(state)) for state in BREAKERS]
