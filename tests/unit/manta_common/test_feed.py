"""The feed's view is whole or not there, never mixes two readings, and tells of everything that changed."""

import time
from typing import Any

import msgspec
import pytest

from manta_common.api.meta import ObjectMeta
from manta_common.bus.channel import MIXED, OF_JOBS, OF_SERVE, PLAIN, State
from manta_common.bus.protocol import Batch, Message
from manta_common.feed import Feed, Source
from manta_common.fence import Seen
from manta_common.keys import Key
from manta_common.store import Held
from manta_common.telemetry.exposition import exposition
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.names import SEEN_HEADER
from manta_common.telemetry.plane import FeedMetrics
from manta_common.telemetry.tracing import Headers
from tests.unit.manta_common.telemetry.parse import samples


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
        self.causes: list[Headers] = []
        self.renewals = 0
        self.feed: Feed

    def changed(self, word: str, before: Held[Any] | None, after: Held[Any] | None) -> None:
        self.causes.append(self.feed.cause)
        held = after or before
        assert held is not None
        self.changes.append(
            (held.key.name, before.object.text if before else None, after.object.text if after else None)
        )

    def saw(self, seen: Seen) -> None:
        self.seen.append(seen)

    def renewed(self) -> None:
        self.renewals += 1

    def poisoned(self, subject: str, error: str) -> None:
        self.poison.append(subject)


class Scene:
    """A feed without a bus: batches are handed to it."""

    def __init__(self) -> None:
        self.ear, self.registry = Ear(), Registry()
        self.feed = Feed(None, [], [TOYS], self.ear, FeedMetrics(self.registry, "toys"))  # type: ignore[arg-type]
        self.ear.feed = self.feed

    def take(self, *messages: Message, fresh: bool = False, caught_up: bool = True) -> None:
        self.feed.take(Batch(messages=messages, fresh=fresh, caught_up=caught_up))

    def numbers(self) -> dict[str, float]:
        """What was counted, by the metric's name and the kind."""
        counted = samples(exposition([self.registry]))
        return {f"{name} {dict(labels).get('kind', '')}".strip(): value for (name, labels), value in counted.items()}

    def texts(self) -> dict[str, str] | None:
        view = self.feed.view
        return None if view is None else {held.key.name: held.object.text for held in view.of(TOYS)}


def toy(
    name: str,
    text: str,
    *,
    version: int = 1,
    metadata: ObjectMeta | None = None,
    partition: int = 3,
    family: str = PLAIN,
) -> Message:
    state = State(key=Key("n", name), uid="u", version=str(version), object=Toy(text, metadata or ObjectMeta()))
    return message(name, TOYS.channel.encode(state), partition, family)


def tombstone(name: str, *, version: int = 9, partition: int = 3) -> Message:
    return message(name, TOYS.channel.encode(State(key=Key("n", name), uid="u", version=str(version))), partition)


def message(name: str, body: bytes, partition: int = 3, family: str = PLAIN) -> Message:
    return Message(subject=TOYS.channel.subject(partition, Key("n", name), family), body=body, sequence=1)


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


def test_a_view_that_takes_the_place_of_another_is_told_of() -> None:
    scene = Scene()
    scene.take(toy("a", "x"), fresh=True)
    assert scene.ear.renewals == 0
    scene.take(fresh=True, caught_up=False)
    assert scene.ear.renewals == 0
    scene.take()
    assert scene.ear.renewals == 1


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
        pytest.param(
            message("a", TOYS.channel.encode(State(key=Key("n", "a"), uid="u", version="9" * 30, object=Toy("x")))),
            id="a version that would hide all later ones",
        ),
        pytest.param(
            message("a", TOYS.channel.encode(State(key=Key("n", "a"), uid="u", version="1_0", object=Toy("x")))),
            id="a version that no server writes",
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
    scene.take(Message(subject="manta.v1.state.3.plain.other.n.a", body=b"?", sequence=1), fresh=True)
    assert scene.texts() == {}
    assert scene.ear.poison == []


@pytest.mark.parametrize("fresh", [pytest.param(True, id="in one reading"), pytest.param(False, id="one by one")])
@pytest.mark.parametrize(
    ("messages", "left"),
    [
        pytest.param([toy("a", "x"), tombstone("a", version=1)], {}, id="deleted"),
        pytest.param(
            [toy("a", "x"), tombstone("a", version=1), toy("a", "x", partition=5)], {"a": 5}, id="moved elsewhere"
        ),
        pytest.param(
            [toy("a", "x"), toy("a", "x", partition=5), tombstone("a", version=1)],
            {"a": 5},
            id="moved elsewhere, and buried in the old place only later",
        ),
        pytest.param(
            [toy("a", "x"), toy("a", "x", partition=5), tombstone("a", version=1), tombstone("a", partition=5)],
            {},
            id="moved elsewhere and deleted there",
        ),
        pytest.param(
            [toy("a", "x"), toy("a", "x", family=OF_JOBS), tombstone("a", version=1)],
            {"a": 3},
            id="of another family, and buried in the old one later",
        ),
    ],
)
def test_a_feed_of_many_partitions_shows_an_object_where_it_was_last_put(
    messages: list[Message], left: dict[str, int], fresh: bool
) -> None:
    scene = Scene()
    scene.take(*(messages if fresh else ()), fresh=True)
    for one in () if fresh else messages:
        scene.take(one)
    assert scene.feed.view is not None
    assert {held.key.name: held.partition for held in scene.feed.view.of(TOYS)} == left


def test_a_source_of_a_family_reads_what_is_of_several_too() -> None:
    source = Source("toy", Toy, family=OF_SERVE)
    assert source.filters(3) == [source.channel.filter(3, OF_SERVE), source.channel.filter(3, MIXED)]
    assert source.filters("*") == [source.channel.filter()], "the wide feed is of all"
    assert TOYS.filters(3) == [TOYS.channel.filter(3)]


def test_messages_and_readings_are_counted() -> None:
    scene = Scene()
    scene.take(toy("a", "x"), message("b", b"?"), fresh=True)
    scene.take(toy("a", "y", version=2), Message(subject="elsewhere", body=b"", sequence=1))
    scene.take(fresh=True)
    numbers = scene.numbers()
    assert numbers["manta_feed_messages_total toy"] == 2
    assert numbers["manta_feed_poison_total toy"] == numbers["manta_feed_poison_total unknown"] == 1
    assert numbers["manta_feed_replays_total"] == 2


def test_the_lag_of_what_comes_is_measured_but_not_the_age_of_what_stood_there() -> None:
    scene = Scene()
    old = {SEEN_HEADER: str(time.time() - 3600)}
    scene.take(msgspec.structs.replace(toy("a", "x"), headers=old), fresh=True)
    assert scene.numbers()["manta_feed_lag_seconds_count"] == 0
    scene.take(msgspec.structs.replace(toy("a", "y", version=2), headers=old))
    scene.take(toy("a", "z", version=3))
    assert scene.numbers()["manta_feed_lag_seconds_count"] == 1
    assert 3600 <= scene.numbers()["manta_feed_lag_seconds_sum"] < 3700


def test_the_listener_can_ask_what_caused_a_change_but_not_what_caused_a_reading() -> None:
    scene, headers = Scene(), {"traceparent": "x"}
    scene.take(msgspec.structs.replace(toy("a", "x"), headers=headers), fresh=True)
    scene.take(msgspec.structs.replace(toy("a", "y", version=2), headers=headers))
    assert scene.ear.causes == [{}, headers]
    assert scene.feed.cause == {}


def test_what_a_service_keeps_the_same_of_is_seen_but_no_change() -> None:
    scene = Scene()
    scene.take(toy("a", "x"), fresh=True)
    scene.take(toy("a", "x", version=2), toy("a", "y", version=3), toy("a", "y", version=4, partition=4))
    assert scene.ear.changes == [("a", None, "x"), ("a", "x", "y"), ("a", "y", "y")], "another partition is a change"
    assert [seen.version for seen in scene.ear.seen] == [1, 2, 3, 4]


def test_another_object_of_the_same_looks_is_a_change() -> None:
    scene = Scene()
    scene.take(toy("a", "x"), fresh=True)
    state = State(key=Key("n", "a"), uid="another", version="2", object=Toy("x"))
    scene.take(message("a", TOYS.channel.encode(state)))
    assert scene.ear.changes == [("a", None, "x"), ("a", "x", "x")]


def test_where_versions_are_read_a_new_one_is_a_change() -> None:
    source, ear = Source("toy", Toy, by_version=True), Ear()
    ear.feed = Feed(None, [], [source], ear)  # type: ignore[arg-type]
    for version in (1, 2):
        ear.feed.take(Batch(messages=(toy("a", "x", version=version),), fresh=version == 1, caught_up=True))
    assert ear.changes == [("a", None, "x"), ("a", "x", "x")]
