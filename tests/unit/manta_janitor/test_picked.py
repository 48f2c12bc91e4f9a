"""Of a kind only what matters is kept; the rest is as if it were gone."""

from typing import cast

import msgspec

from manta_common.bus.channel import Channel, State
from manta_common.bus.protocol import Batch, Bus, Message
from manta_common.ears import Ear
from manta_common.feed import Feed
from manta_common.keys import Key
from manta_common.plane import Item
from manta_janitor.picked import Picked


class Toy(msgspec.Struct, frozen=True):
    """An object that matters when it is red."""

    colour: str


class Listener:
    """Notes what the feed shows."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, bool]] = []

    def changed(self, *_: object) -> None:
        """Nothing."""

    def saw(self, seen: object) -> None:
        """At which version, and whether it is gone."""
        self.seen.append((seen.version, seen.gone))  # type: ignore[attr-defined]


TOYS: Picked[Toy] = Picked("toy", Toy, lambda toy: toy.colour == "red")
KEY = Key("ns", "a")


def message(colour: str, version: int) -> Message:
    channel: Channel[Toy] = Channel("toy", Toy)
    body = channel.encode(State(key=KEY, uid="u", version=str(version), object=Toy(colour)))
    return Message(subject=channel.subject(0, KEY), body=body, sequence=version)


def test_only_what_is_wanted_is_kept() -> None:
    listener = Listener()
    feed = Feed(cast("Bus", None), [], [TOYS], cast("Ear[Item]", listener))
    kept = []
    for version, colour in enumerate(("blue", "red", "blue", "blue"), start=1):
        feed.take(Batch(messages=(message(colour, version),), fresh=version == 1, caught_up=True))
        assert feed.view
        kept.append(feed.view.of(TOYS).get(KEY))
    assert kept == [None, Toy("red"), None, None]
    assert listener.seen == [(1, True), (2, False), (3, True), (4, True)]
