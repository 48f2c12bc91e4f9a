"""What the watcher shows on `/metrics` beyond its connections and its ownership."""

from collections.abc import Callable

from manta_common.telemetry import names
from manta_common.telemetry.definitions import Metric
from manta_common.telemetry.metrics import Registry
from manta_watcher.reign import Watcher


def show_metrics(registry: Registry, watcher: Watcher) -> None:
    """Show a watcher's numbers whenever the metrics are read."""
    tally = watcher.tally
    shown: list[tuple[Metric, Callable[[], int]]] = [
        (names.WATCHER_ACTIVE, lambda: int(watcher.active)),
        (names.WATCHER_WHOLE, lambda: int(tally.whole)),
        (names.WATCHER_SESSIONS, lambda: tally.sessions),
        (names.WATCHER_LISTED, lambda: tally.listed),
        (names.WATCHER_CHANGES, lambda: tally.changes),
        (names.WATCHER_UNREADABLE, lambda: tally.unreadable),
        (names.WATCHER_OBJECTS, lambda: watcher.session.known if watcher.session else 0),
        (names.WATCHER_WITHHELD, lambda: watcher.session.withheld if watcher.session else 0),
        (names.WATCHER_WAITING, lambda: watcher.session.depth if watcher.session else 0),
    ]
    for metric, read in shown:
        registry.numbers(metric).read(read)
