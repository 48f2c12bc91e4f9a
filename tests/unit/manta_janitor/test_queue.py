"""What waits for its time, in numbers and in words."""

from datetime import datetime, timedelta

import pytest

from manta_common.keys import Key
from manta_common.plane import Item
from manta_common.telemetry import names
from manta_common.telemetry.metrics import Registry
from manta_janitor.policies.endings import Deletion, Plan
from manta_janitor.queue import Queue
from tests.unit.manta_janitor.test_endings import ENDED, after

ONE, TWO, THREE = (Item(partition, Key("ns", name)) for partition, name in ((0, "a"), (0, "b"), (1, "c")))


class Desk:
    """A queue at a time that the test moves, for partitions that it gives and takes."""

    def __init__(self) -> None:
        self.at, self.owned, self.metrics = ENDED, {0, 1}, Registry()
        self.queue = Queue(self.metrics, self.now, lambda item: item.partition in self.owned)

    def now(self) -> datetime:
        return self.at

    def pending(self) -> dict[str, float]:
        found = self.metrics.numbers(names.DELETIONS_PENDING).samples()
        return {labels: number for _, labels, number in found if number}


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.queue.put(ONE, Plan(upcoming=Deletion(after(20), "DeleteCluster", "shutdownAfterJobFinishes")))
    made.queue.put(TWO, Plan(upcoming=Deletion(after(10), "DeleteSelf", "deletionRules[0]")))
    made.queue.put(THREE, Plan(due=Deletion(after(0), "DeleteSelf", "deletionRules[1]")))
    return made


def test_what_waits_is_counted_by_what_is_deleted_and_whether_it_is_due(desk: Desk) -> None:
    assert desk.pending() == {
        'policy="DeleteCluster",state="pending"': 1,
        'policy="DeleteSelf",state="pending"': 1,
        'policy="DeleteSelf",state="due"': 1,
    }
    desk.at += timedelta(seconds=15)
    assert desk.pending()['policy="DeleteSelf",state="due"'] == 2


def test_the_first_ones_are_shown_in_their_order(desk: Desk) -> None:
    shown = desk.queue.shown()
    assert shown["pending"] == 3
    told = shown["next"]
    assert isinstance(told, list)
    assert [each["key"] for each in told] == ["ns/c", "ns/b", "ns/a"]
    assert told[1] == {"key": "ns/b", "at": "2026-01-02T03:04:15Z", "policy": "DeleteSelf"}


def test_what_is_gone_done_or_somebody_elses_does_not_wait(desk: Desk) -> None:
    desk.queue.forget(ONE)
    desk.queue.put(TWO, Plan())
    desk.owned = {0}
    assert desk.queue.shown() == {"pending": 0, "next": []}


def test_what_went_to_another_replica_is_forgotten(desk: Desk) -> None:
    desk.queue.lose(lambda item: item.partition == 0)
    assert desk.queue.shown()["pending"] == 1


def test_deletions_are_counted_with_how_late_they_were(desk: Desk) -> None:
    deletion = Deletion(after(0), "DeleteSelf", "deletionRules[1]")
    desk.queue.failed(deletion)
    desk.at += timedelta(seconds=3)
    desk.queue.done(deletion)
    ended = {labels: number for _, labels, number in desk.metrics.numbers(names.DELETIONS).samples() if number}
    assert ended == {'policy="DeleteSelf",outcome="failed"': 1, 'policy="DeleteSelf",outcome="done"': 1}
    late = desk.metrics.distributions(names.DELETION_LATE_SECONDS).samples()
    assert ("_sum", 'policy="DeleteSelf"', 3.0) in list(late)
