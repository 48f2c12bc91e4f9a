"""The feed's view is whole or not there, never mixes two readings, and tells of everything that changed."""

from typing import Any

import msgspec
import pytest

from manta_common.api.meta import ObjectMeta
from manta_common.bus.channel import State
from manta_common.bus.protocol import Batch, Message
from manta_common.feed import Feed, Source
from manta_common.fence import Seen
from manta_common.keys import Key
from manta_common.store import Held


class Toy(msgspec.Struct, frozen=True):
    """A kind of objects."""

    text: str = ""
    metadata: ObjectMeta = ObjectMeta()


TOYS = Source("toy", Toy, {"text": lambda toy: [toy.text]})


class Ear:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, str | None, str | None]] = []
        self.seen: list[Seen] = []
        self.poison: list[str] = []

    def changed(self, word: str, before: Held[Any] | None, after: Held[Any] | None) -> None:
        held = after or before
        assert held is not None
        self.changes.append(
            (held.key.name, before.object.text if before else None, after.object.text if after else None)
        )

    def saw(self, seen: Seen) -> None:
        self.seen.append(seen)

    def poisoned(self, subject: str, error: str) -> None:
        self.poison.append(subject)


class Scene:
    """A feed without a bus: batches are handed to it."""

    def __init__(self) -> None:
        self.ear = Ear()
        self.feed = Feed(None, [], [TOYS], self.ear)  # type: ignore[arg-type]

    def take(self, *messages: Message, fresh: bool = False, caught_up: bool = True) -> None:
        self.feed.take(Batch(messages=messages, fresh=fresh, caught_up=caught_up))

    def texts(self) -> dict[str, str] | None:
        view = self.feed.view
        return None if view is None else {held.key.name: held.object.text for held in view.of(TOYS)}


def toy(name: str, text: str, *, version: int = 1, uid: str = "u", metadata: ObjectMeta | None = None) -> Message:
    state = State(key=Key("n", name), uid=uid, version=str(version), object=Toy(text, metadata or ObjectMeta()))
    return message(name, TOYS.channel.encode(state))


def tombstone(name: str, *, version: int = 9, uid: str = "u") -> Message:
    return message(name, TOYS.channel.encode(State(key=Key("n", name), uid=uid, version=str(version))))


def message(name: str, body: bytes) -> Message:
    return Message(subject=TOYS.channel.subject(3, Key("n", name)), body=body, sequence=1)


def test_there_is_no_view_until_the_reading_is_whole() -> None:
    scene = Scene()
    scene.take(toy("a", "x"), fresh=True, caught_up=False)
    assert scene.texts() is None
    assert scene.ear.changes == []
    assert scene.ear.seen == []
    scene.take(toy("b", "y"))
    assert scene.texts() == {"a": "x", "b": "y"}
    assert scene.ear.changes == [("a", None, "x"), ("b", None, "y")]
    assert [seen.key.name for seen in scene.ear.seen] == ["a", "b"]


def test_an_empty_reading_is_whole_too() -> None:
    scene = Scene()
    scene.take(fresh=True)
    assert scene.texts() == {}


def test_a_change_is_shown_before_it_is_told() -> None:
    scene = Scene()
    scene.take(toy("a", "x"), fresh=True)
    scene.take(toy("a", "y", version=2))
    assert scene.texts() == {"a": "y"}
    assert scene.ear.changes[-1] == ("a", "x", "y")
    assert scene.ear.seen[-1].version == 2


def test_a_tombstone_takes_the_object_away_and_tells_its_version() -> None:
    scene = Scene()
    scene.take(toy("a", "x"), fresh=True)
    scene.take(tombstone("a"))
    assert scene.texts() == {}
    assert scene.ear.changes[-1] == ("a", "x", None)
    assert scene.ear.seen[-1] == Seen(kind="toy", key=Key("n", "a"), uid="u", version=9, gone=True)


def test_what_vanished_between_two_readings_leaves_no_ghost() -> None:
    scene = Scene()
    scene.take(toy("a", "x"), toy("b", "y"), fresh=True)
    scene.take(toy("b", "z", version=2), fresh=True, caught_up=False)
    assert scene.texts() == {"a": "x", "b": "y"}, "the old view is shown until the new one is whole"
    scene.take()
    assert scene.texts() == {"b": "z"}
    assert scene.ear.changes[-2:] == [("b", "y", "z"), ("a", "x", None)]


def test_what_a_half_read_view_holds_is_not_seen_yet() -> None:
    scene = Scene()
    scene.take(fresh=True)
    scene.take(toy("a", "x", version=7), fresh=True, caught_up=False)
    assert scene.ear.seen == []
    scene.take(tombstone("b"))
    assert [(seen.key.name, seen.gone) for seen in scene.ear.seen] == [("a", False), ("b", True)]


def test_an_object_that_is_being_deleted_is_seen_as_terminating() -> None:
    scene = Scene()
    dying = msgspec.convert({"deletionTimestamp": "2026-01-01T00:00:00Z"}, ObjectMeta)
    scene.take(toy("a", "x", metadata=dying), fresh=True)
    assert scene.ear.seen[-1].terminating


@pytest.mark.parametrize(
    "poison",
    [
        pytest.param(message("a", b"{"), id="bad bytes"),
        pytest.param(
            message("a", b'{"schema": 99, "name": "a", "namespace": "n", "uid": "u", "gone": true}'), id="newer schema"
        ),
        pytest.param(message("b", tombstone("a").body), id="a subject that names another object"),
        pytest.param(Message(subject="elsewhere", body=b"", sequence=1), id="no state subject"),
        pytest.param(
            message("a", TOYS.channel.encode(State(key=Key("n", "a"), uid="u", version="abc", object=Toy("x")))),
            id="a version that is no number",
        ),
    ],
)
def test_poison_is_told_and_left_out(poison: Message) -> None:
    scene = Scene()
    scene.take(poison, toy("good", "x"), fresh=True)
    assert scene.texts() == {"good": "x"}
    assert scene.ear.poison == [poison.subject]


def test_kinds_that_nobody_asked_for_are_passed_over() -> None:
    scene = Scene()
    scene.take(Message(subject="manta.v1.state.3.other.n.a", body=b"?", sequence=1), fresh=True)
    assert scene.texts() == {}
    assert scene.ear.poison == []
