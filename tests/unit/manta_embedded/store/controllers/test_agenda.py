"""What is to be looked at comes once, in order, and not before its time."""

from datetime import UTC, datetime, timedelta

from manta_embedded.store.controllers.agenda import Agenda

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOON = NOW + timedelta(seconds=5)


def test_things_come_once_and_in_order() -> None:
    agenda: Agenda[str] = Agenda()
    for item in ("b", "a", "b"):
        agenda.add(item)
    assert [agenda.take(NOW) for _ in range(3)] == ["b", "a", None]


def test_what_is_due_later_comes_then() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.add_at("later", SOON)
    assert agenda.take(NOW) is None
    assert agenda.due(NOW) == SOON
    assert agenda.take(SOON) == "later"
    assert agenda.due(SOON) is None


def test_what_waits_is_due_now() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.add_at("later", SOON)
    agenda.add("first")
    assert agenda.due(NOW) == NOW


def test_a_new_plan_takes_the_place_of_the_old_one() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.add_at("thing", NOW + timedelta(seconds=1))
    agenda.add_at("thing", SOON)
    assert agenda.due(NOW) == SOON
    assert agenda.take(NOW + timedelta(seconds=1)) is None
    assert [agenda.take(SOON), agenda.take(SOON)] == ["thing", None]
