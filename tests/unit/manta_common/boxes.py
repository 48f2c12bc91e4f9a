"""A service for tests of the wide feed: toys lie in boxes, which may stand in other partitions."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from manta_common.bus.channel import State
from manta_common.bus.protocol import Bus
from manta_common.errors import NotCaughtUp
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.plane import Item, Plane, Wide
from manta_common.store import Held
from manta_common.telemetry.stamps import stamp
from manta_common.telemetry.tracing import Tracing
from manta_common.worker import PassEnded


class Toy(msgspec.Struct, frozen=True):
    """Something that lies in a box, which may stand in another partition."""

    name: str
    box: str


class Box(msgspec.Struct, frozen=True):
    """A box of some colour."""

    colour: str


TOYS = Source("toy", Toy, {"box": lambda toy: [toy.box]})
BOXES = Source("box", Box)


def toys_in(word: str, box: Held[Any], view: View) -> list[Key]:
    """The toys of one partition that lie in a box."""
    return [Key("n", toy.name) for toy in view.of(TOYS).find("box", box.key.name)]


WIDE = Wide(sources=(BOXES,), marks=toys_in)


class Toys:
    """A service that only looks: which colour the box of each toy has."""

    name = "toys"
    sources: Sequence[Source[Any]] = (TOYS,)

    def __init__(self) -> None:
        self.plane: Plane
        self.seen: list[tuple[str, str]] = []
        self.outcomes: list[str] = []

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        return [held.key]

    async def settle(self, item: Item) -> None:
        view = self.plane.view_of(item)
        if view is None:
            raise NotCaughtUp("not whole")
        toy = view.of(TOYS).get(item.key)
        box = self.plane.everywhere.of(BOXES).get(Key("n", toy.box)) if toy else None
        self.seen.append((item.key.name, box.colour if box else ""))

    def passed(self, ended: PassEnded[Item]) -> None:
        self.outcomes.append(ended.outcome)


class Shelf:
    """Puts toys and boxes on a bus, as a watcher would."""

    def __init__(self, bus: Bus, tracing: Tracing | None = None) -> None:
        self._bus, self._tracing, self._versions = bus, tracing or Tracing(), 0

    async def toy(self, partition: int, name: str, box: str | None) -> None:
        """A toy that lies in a box; in none: it is gone."""
        await self._put(partition, name, Toy(name, box) if box else None, source=TOYS)

    async def box(self, partition: int, name: str, colour: str | None) -> None:
        """A box of this colour; of none: it is gone."""
        await self._put(partition, name, Box(colour) if colour else None, source=BOXES)

    async def _put(self, partition: int, name: str, thing: Toy | Box | None, *, source: Source[Any]) -> None:
        self._versions += 1
        state = State(key=Key("n", name), uid=name, version=str(self._versions), object=thing)
        subject, headers = source.channel.subject(partition, state.key), stamp(self._tracing)
        await self._bus.publish(subject, source.channel.encode(state), headers=headers)
