"""What the plane's parts count: each part is given its recorder and tells it what happened."""

import re
from collections.abc import Callable, Iterable

from manta_common.telemetry import names
from manta_common.telemetry.metrics import Registry

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def outcome_word(error: str) -> str:
    """The name of an error as a label: `NotFound` is `not_found`; `ok` stays."""
    return _HUMP.sub("_", error).lower()


class ApiMetrics:
    """Calls to the API server."""

    def __init__(self, registry: Registry, kinds: Iterable[str] = (), verbs: Iterable[str] = names.VERBS) -> None:
        self._calls, self._seconds = registry.numbers(names.API_CALLS), registry.distributions(names.API_CALL_SECONDS)
        self._calls.expect(kind=kinds, verb=verbs)

    def called(self, verb: str, kind: str, outcome: str, seconds: float) -> None:
        """A call has ended, well (`ok`) or with an error of this name; given to the client as it is."""
        self._calls.at(verb, kind, outcome_word(outcome)).add()
        self._seconds.at(verb).observe(seconds)


class BusMetrics:
    """The connection to the bus, and what is sent."""

    def __init__(self, registry: Registry, connected: Callable[[], bool]) -> None:
        registry.numbers(names.BUS_CONNECTED).read(lambda: int(connected()))
        self._publishes = registry.numbers(names.BUS_PUBLISHES)
        self._seconds = registry.distributions(names.BUS_PUBLISH_SECONDS).at()

    def published(self, outcome: str, seconds: float) -> None:
        """A message was stored (`ok`), refused because somebody else wrote, or not answered."""
        self._publishes.at(outcome_word(outcome)).add()
        self._seconds.observe(seconds)


class FeedMetrics:
    """What one worker's feeds read from the bus."""

    def __init__(self, registry: Registry, worker: str, kinds: Iterable[str] = ()) -> None:
        self._worker, self._partitions = worker, registry.numbers(names.FEED_PARTITIONS)
        self._messages, self._poison = registry.numbers(names.FEED_MESSAGES), registry.numbers(names.FEED_POISON)
        self.replayed = registry.numbers(names.FEED_REPLAYS).at(worker).add
        self.lagged = registry.distributions(names.FEED_LAG_SECONDS).at(worker).observe  # seconds
        for family in (self._messages, self._poison):
            family.expect(worker=[worker], kind=kinds)

    def took(self, kind: str) -> None:
        """A message is in the store."""
        self._messages.at(self._worker, kind).add()

    def left_out(self, kind: str) -> None:
        """A message could not be read."""
        self._poison.at(self._worker, kind).add()

    def watch(self, *, replaying: Callable[[], int], ready: Callable[[], int]) -> None:
        """Show how many partitions are being read, and how many are whole."""
        self._partitions.read(replaying, self._worker, "replaying")
        self._partitions.read(ready, self._worker, "ready")


class FenceMetrics:
    """Keys held back until their own writes are seen."""

    def __init__(self, registry: Registry, worker: str, held: Callable[[], int]) -> None:
        registry.numbers(names.FENCE_HELD).read(held, worker)
        self._worker, self._verified = worker, registry.numbers(names.FENCE_VERIFIED)
        self._verified.expect(worker=[worker])
        self._waits = registry.distributions(names.FENCE_WAIT_SECONDS).at(worker)

    def waited(self, seconds: float) -> None:
        """A write has come back after so long."""
        self._waits.observe(seconds)

    def verified(self, cause: str) -> None:
        """A view was compared with the API server's; `names.VERIFY_CAUSES`."""
        self._verified.at(self._worker, cause).add()


class OwnershipMetrics:
    """Which partitions this replica owns, and how they come and go."""

    def __init__(
        self, registry: Registry, worker: str, *, owned: Callable[[], int], members: Callable[[], int]
    ) -> None:
        registry.numbers(names.PARTITIONS_OWNED).read(owned, worker)
        registry.numbers(names.MEMBERS).read(members, worker)
        self._worker, self._moved = worker, registry.numbers(names.PARTITIONS_MOVED)
        self._moved.expect(worker=[worker])
        self.drained_late = registry.numbers(names.DRAINED_LATE).at(worker).add

    def moved(self, move: str, count: int = 1) -> None:
        """Partitions came or went; `names.MOVES`."""
        self._moved.at(self._worker, move).add(count)
