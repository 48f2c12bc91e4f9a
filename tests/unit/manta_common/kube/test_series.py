"""Repeated events become a series, within a window and within bounds."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from manta_common.api.core import ObjectReference
from manta_common.kube.series import Ledger, Notice, shortened

NOW = datetime(2026, 11, 16, 5, 0, 0, tzinfo=UTC)
CLUSTER = ObjectReference(api_version="ray.io/v1", kind="RayCluster", namespace="team", name="one", uid="u1")
CREATED = Notice(
    controller="raycluster-controller", type="Normal", reason="CreatedPod", action="Create", note="Created pod team/a"
)
FAILED = msgspec.structs.replace(CREATED, type="Warning", reason="FailedToCreatePod", note="quota")


def ledger(capacity: int = 100) -> Ledger:
    return Ledger("host-1", window=timedelta(minutes=6), capacity=capacity)


def test_a_new_event_has_every_field() -> None:
    event = ledger().see(CLUSTER, CREATED, NOW)
    assert msgspec.to_builtins(event.body) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": event.key.name, "namespace": "team"},
        "eventTime": "2026-11-16T05:00:00.000000Z",
        "reportingController": "raycluster-controller",
        "reportingInstance": "raycluster-controller-host-1",
        "type": "Normal",
        "reason": "CreatedPod",
        "action": "Create",
        "note": "Created pod team/a",
        "regarding": {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "namespace": "team",
            "name": "one",
            "uid": "u1",
        },
    }
    assert event.key.name.startswith("one.")
    assert event.series() == {}


def test_the_same_again_is_a_series() -> None:
    book = ledger()
    first = book.see(CLUSTER, CREATED, NOW)
    again = book.see(CLUSTER, CREATED, NOW + timedelta(seconds=90))
    assert again is first
    assert again.series() == {"series": {"count": 2, "lastObservedTime": "2026-11-16T05:01:30.000000Z"}}


@pytest.mark.parametrize(
    ("notice", "same"),
    [
        pytest.param(msgspec.structs.replace(CREATED, note="Created pod team/b"), True, id="of another pod"),
        pytest.param(msgspec.structs.replace(CREATED, reason="DeletedPod"), False, id="another reason"),
        pytest.param(msgspec.structs.replace(CREATED, action="Update"), False, id="another action"),
        pytest.param(msgspec.structs.replace(CREATED, controller="rayjob-controller"), False, id="another controller"),
    ],
)
def test_what_is_the_same_event(notice: Notice, same: bool) -> None:
    book = ledger()
    assert (book.see(CLUSTER, CREATED, NOW) is book.see(CLUSTER, notice, NOW)) == same


def test_another_warning_is_news() -> None:
    book = ledger()
    other = msgspec.structs.replace(FAILED, note="no rights")
    assert book.see(CLUSTER, FAILED, NOW) is not book.see(CLUSTER, other, NOW)


def test_a_new_object_of_the_same_name_has_its_own_events() -> None:
    book = ledger()
    successor = msgspec.structs.replace(CLUSTER, uid="u2")
    assert book.see(CLUSTER, CREATED, NOW).key != book.see(successor, CREATED, NOW).key


def test_after_a_quiet_time_it_is_a_new_event() -> None:
    book = ledger()
    first = book.see(CLUSTER, CREATED, NOW)
    assert book.see(CLUSTER, CREATED, NOW + timedelta(minutes=7)).key != first.key


def test_memory_is_bounded_and_what_was_lost_is_counted() -> None:
    book = ledger(capacity=10)
    for number in range(25):
        event = book.see(msgspec.structs.replace(CLUSTER, uid=str(number)), CREATED, NOW)
        if number < 5:
            event.wrote(1, next_at=NOW)
    assert len(list(book.waiting())) == 10
    assert book.forgotten == 10


def test_names_differ_within_a_microsecond_and_are_names() -> None:
    book = ledger()
    long = msgspec.structs.replace(CLUSTER, name="x" * 253)
    names = [book.see(msgspec.structs.replace(long, uid=str(n)), CREATED, NOW).key.name for n in range(50)]
    assert len(set(names)) == 50
    assert all(len(name) <= 253 for name in names)


def test_an_object_without_a_namespace_is_told_of_in_default() -> None:
    node = ObjectReference(api_version="v1", kind="Node", name="n", uid="u")
    assert ledger().see(node, CREATED, NOW).key.namespace == "default"


@pytest.mark.parametrize("note", ["short", "x" * 1024, "x" * 5000, "grün" * 1000, "🐟" * 300])
def test_a_note_fits(note: str) -> None:
    cut = shortened(note)
    assert len(cut.encode()) <= 1024
    assert note.startswith(cut.removesuffix("..."))
    assert (cut == note) == (len(note.encode()) <= 1024)
