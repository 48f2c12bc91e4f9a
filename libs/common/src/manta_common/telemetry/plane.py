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
        self.held_back = registry.distributions(names.API_LIMIT_SECONDS).at().observe  # seconds

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
    """What is read from the bus."""

    def __init__(self, registry: Registry, kinds: Iterable[str] = ()) -> None:
        self._messages, self._poison = registry.numbers(names.FEED_MESSAGES), registry.numbers(names.FEED_POISON)
        self._partitions = registry.numbers(names.FEED_PARTITIONS)
        self.replayed = registry.numbers(names.FEED_REPLAYS).at().add
        self.lagged = registry.distributions(names.FEED_LAG_SECONDS).at().observe  # seconds
        for family in (self._messages, self._poison):
            family.expect(kind=kinds)

    def took(self, kind: str) -> None:
        """A message is in the store."""
        self._messages.at(kind).add()

    def left_out(self, kind: str) -> None:
        """A message could not be read."""
        self._poison.at(kind).add()

    def partitions(self, *, replaying: int, ready: int) -> None:
        """How many partitions are read, and how many of them are whole."""
        self._partitions.at("replaying").set(replaying)
        self._partitions.at("ready").set(ready)


class FenceMetrics:
    """Keys held back until their own writes are seen."""

    def __init__(self, registry: Registry, held: Callable[[], int]) -> None:
        registry.numbers(names.FENCE_HELD).read(held)
        self._verified = registry.numbers(names.FENCE_VERIFIED)
        self.waited = registry.distributions(names.FENCE_WAIT_SECONDS).at().observe  # seconds

    def verified(self, cause: str) -> None:
        """A view was compared with the API server's; `names.VERIFY_CAUSES`."""
        self._verified.at(cause).add()


class OwnershipMetrics:
    """Which partitions this replica owns, and how they come and go."""

    def __init__(self, registry: Registry, *, owned: Callable[[], int], members: Callable[[], int]) -> None:
        registry.numbers(names.PARTITIONS_OWNED).read(owned)
        registry.numbers(names.MEMBERS).read(members)
        self._moved = registry.numbers(names.PARTITIONS_MOVED)

    def moved(self, move: str, count: int = 1) -> None:
        """Partitions came or went; `names.MOVES`."""
        self._moved.at(move).add(count)
