"""Who deletes first: what is overdue is put in order before anything goes, and what comes in time does not wait."""

from datetime import UTC, datetime, timedelta

import pytest

from manta_common.errors import NotCaughtUp
from manta_common.keys import Key
from manta_common.plane import Item
from manta_janitor.turns import GATHERING_SECONDS, UNCALLED_SECONDS, Turn, Turns

DUE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def item(name: str, partition: int = 0) -> Item:
    return Item(partition, Key("ns", name))


def due(seconds: int) -> datetime:
    return DUE + timedelta(seconds=seconds)


class Desk:
    """Turns for two at once, at a time that the test moves."""

    def __init__(self) -> None:
        self.now, self.owned, self.marked = 100.0, {0, 1}, list[str]()
        self.turns = Turns(
            2,
            lambda one: self.marked.append(one.key.name),
            time=lambda: self.now,
            is_ours=lambda one: one.partition in self.owned,
        )

    def ask(self, name: str, seconds: int, *, in_order: bool = False, partition: int = 0) -> float:
        with self.turns.passing(item(name, partition)) as turn:
            return turn.ask(due(seconds), in_order=in_order)

    def called(self) -> list[str]:
        marked, self.marked = self.marked, []
        return marked


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_what_comes_in_time_goes_at_once(desk: Desk) -> None:
    assert desk.ask("a", 0, in_order=True) == 0
    assert desk.called() == []


def test_what_is_overdue_is_gathered_and_called_in_order(desk: Desk) -> None:
    waits = [desk.ask(name, seconds) for name, seconds in (("c", 3), ("a", 1), ("d", 4), ("b", 2))]
    assert waits == [GATHERING_SECONDS, *[UNCALLED_SECONDS] * 3]
    assert desk.called() == []
    desk.now += GATHERING_SECONDS
    desk.ask("c", 3)
    assert desk.called() == ["a", "b"]
    assert desk.ask("a", 1) == 0
    assert desk.called() == ["c"]


def test_nobody_overtakes_who_was_due_before(desk: Desk) -> None:
    desk.ask("b", 2)
    assert desk.ask("c", 3, in_order=True) > 0
    assert desk.ask("a", 1, in_order=True) == 0


def test_no_more_than_so_many_at_once(desk: Desk) -> None:
    with desk.turns.passing(item("a")) as one, desk.turns.passing(item("b")) as two:
        assert one.ask(due(0), in_order=True) == two.ask(due(0), in_order=True) == 0
        assert desk.ask("c", 0, in_order=True) > 0
        desk.now += GATHERING_SECONDS
    assert desk.called() == ["c"]


def test_a_pass_that_fails_gives_its_turn_back(desk: Desk) -> None:
    def fail(turn: Turn) -> None:
        turn.ask(due(0), in_order=True)
        raise NotCaughtUp

    for _ in range(3):
        with pytest.raises(NotCaughtUp), desk.turns.passing(item("a")) as turn:
            fail(turn)
    assert desk.ask("b", 0, in_order=True) == 0


def test_who_was_called_and_went_to_another_replica_keeps_no_turn(desk: Desk) -> None:
    for name in "ab":
        desk.ask(name, 0, partition=1)
    desk.now += GATHERING_SECONDS
    desk.ask("a", 0, partition=1)
    assert desk.called() == ["a", "b"]
    desk.owned = {0}
    assert desk.ask("c", 0, in_order=True) == 0


def test_who_has_nothing_to_delete_any_more_is_not_called(desk: Desk) -> None:
    desk.ask("a", 0)
    desk.ask("b", 1)
    desk.turns.forget(item("a"))
    desk.now += GATHERING_SECONDS
    desk.ask("b", 1)
    assert desk.called() == ["b"]


def test_who_asked_and_went_to_another_replica_is_not_called(desk: Desk) -> None:
    desk.ask("a", 0)
    desk.ask("b", 1)
    desk.turns.lose(lambda one: one == item("a"))
    desk.now += GATHERING_SECONDS
    desk.ask("b", 1)
    assert desk.called() == ["b"]


def test_a_time_that_changed_counts(desk: Desk) -> None:
    for name, seconds in (("a", 0), ("b", 1), ("c", 2), ("a", 9)):
        desk.ask(name, seconds)
    desk.now += GATHERING_SECONDS
    desk.ask("c", 2)
    assert desk.called() == ["b", "c"]
