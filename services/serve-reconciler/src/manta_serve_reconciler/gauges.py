"""KubeRay's metrics of RayServices: which there are, whether they are ready, and whether they are upgraded."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from manta_common.api.rayservice import RayService
from manta_common.plane import Item
from manta_common.telemetry import names
from manta_common.telemetry.metrics import Registry
from manta_serve_reconciler import conditions, reasons

Labels = tuple[str, str, str]  # name, namespace, uid


class Shown(msgspec.Struct, frozen=True):
    """What is shown of one RayService."""

    labels: Labels
    ready: bool
    upgrading: bool


class Gauges:
    """The RayServices that this replica looks after."""

    def __init__(self, registry: Registry, is_ours: Callable[[Item], bool]) -> None:
        self._shown: dict[Item, Shown] = {}
        self._is_ours = is_ours
        registry.numbers(names.SERVICE_INFO).read_all(lambda: ((shown.labels, 1.0) for shown in self._ours()))
        registry.numbers(names.SERVICE_READY).read_all(lambda: self._values(lambda shown: shown.ready))
        registry.numbers(names.SERVICE_UPGRADING).read_all(lambda: self._values(lambda shown: shown.upgrading))

    def saw(self, item: Item, service: RayService) -> None:
        """A RayService as it is now."""
        meta, status = service.metadata, service.status
        self._shown[item] = Shown(
            (meta.name, meta.namespace, meta.uid),
            conditions.holds(status, reasons.READY),
            conditions.holds(status, reasons.UPGRADE_IN_PROGRESS),
        )

    def gone(self, item: Item) -> None:
        """There is no such RayService any more."""
        self._shown.pop(item, None)

    def lose(self, belongs: Callable[[Item], bool]) -> None:
        """Somebody else looks after these RayServices from now on; what comes of them is not heard here."""
        for item in [item for item in self._shown if belongs(item)]:
            self.gone(item)

    def _values(self, is_so: Callable[[Shown], bool]) -> Iterable[tuple[tuple[str, ...], float]]:
        return (((*shown.labels, str(is_so(shown)).lower()), 1.0) for shown in self._ours())

    def _ours(self) -> Iterator[Shown]:
        return (shown for item, shown in self._shown.items() if self._is_ours(item))
