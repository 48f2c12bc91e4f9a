"""Events reach the API in the form that it takes, and repeated ones are one object with a count."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
from msgspec import field

from manta_common.api.core import ObjectReference
from manta_common.api.meta import ObjectMeta
from manta_common.api.wire import Time, Wire
from manta_common.keys import Key
from manta_common.kinds import EVENT, NAMESPACE
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import Kube, Scope
from manta_common.kube.series import Notice
from tests.contract.kube.objects import WIDGET, Object, widget
from tests.parts.eventually import eventually
from tests.parts.patience import patient

CREATED = Notice(
    controller="raycluster-controller", type="Normal", reason="CreatedPod", action="Create", note="Created pod a"
)


class EventSeries(Wire, frozen=True, kw_only=True):
    """How often an event was seen."""

    count: int = 0
    last_observed_time: Time | None = None


class Event(Wire, frozen=True, kw_only=True):
    """An event as a reader sees it."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    type: str = ""
    reason: str = ""
    action: str = ""
    note: str = ""
    regarding: ObjectReference = field(default_factory=ObjectReference)
    reporting_controller: str = ""
    reporting_instance: str = ""
    event_time: Time | None = None
    series: EventSeries | None = None


@asynccontextmanager
async def recorder(kube: Kube) -> AsyncIterator[Recorder]:
    """A recorder that runs and writes repeats without delay."""
    opened = Recorder(kube, "host-1", gap=timedelta(0))
    running = asyncio.create_task(opened.run())
    try:
        yield opened
    finally:
        running.cancel()
        await asyncio.wait([running])


async def reference(kube: Kube, space: str) -> ObjectReference:
    """A widget to tell of."""
    made = await kube.create(WIDGET, space, widget("one"), Object)
    return ObjectReference(
        api_version=WIDGET.api_version, kind="Widget", namespace=space, name="one", uid=made.metadata.uid
    )


async def written(kube: Kube, space: str, uid: str, *, count: int = 1, total: int = 0) -> list[Event]:
    """The events about an object, once there are so many, and so much in their series altogether."""

    async def find() -> list[Event] | None:
        found = await kube.list(EVENT, Event, Scope(namespace=space, fields=f"regarding.uid={uid}"))
        seen = sum(event.series.count if event.series else 1 for event in found.items)
        return list(found.items) if len(found.items) >= count and seen >= total else None

    return await eventually(f"{count} events about {uid}", find, limit_seconds=20)


async def test_an_event_carries_all_that_users_look_for(kube: Kube, space: str) -> None:
    about = await reference(kube, space)
    async with recorder(kube) as told:
        told.record(about, CREATED)
        (event,) = await written(kube, space, about.uid)
    assert (event.type, event.reason, event.action, event.note) == ("Normal", "CreatedPod", "Create", "Created pod a")
    assert event.regarding == about
    assert event.reporting_controller == "raycluster-controller"
    assert event.reporting_instance == "raycluster-controller-host-1"
    assert event.event_time is not None
    assert abs(event.event_time - kube.now()) < timedelta(seconds=30)
    assert event.series is None


async def test_a_repeated_event_is_one_object_with_a_count(kube: Kube, space: str) -> None:
    about = await reference(kube, space)
    async with recorder(kube) as told:
        for number in range(5):
            told.record(about, msgspec.structs.replace(CREATED, note=f"Created pod {number}"))
            await written(kube, space, about.uid, total=number + 1)
        (event,) = await written(kube, space, about.uid, total=5)
    assert event.series is not None
    assert event.series.count == 5
    assert event.note == "Created pod 0"


async def test_events_that_differ_are_objects_of_their_own(kube: Kube, space: str) -> None:
    about = await reference(kube, space)
    async with recorder(kube) as told:
        for reason in ("CreatedPod", "DeletedPod", "UpdatedPod"):
            told.record(about, msgspec.structs.replace(CREATED, reason=reason))
        events = await written(kube, space, about.uid, count=3)
    assert sorted(event.reason for event in events) == ["CreatedPod", "DeletedPod", "UpdatedPod"]


async def test_a_burst_before_the_first_write_is_one_object(kube: Kube, space: str) -> None:
    about = await reference(kube, space)
    async with recorder(kube) as told:
        for _ in range(100):
            told.record(about, CREATED)
        (event,) = await written(kube, space, about.uid, total=100)
    assert event.series is not None
    assert event.series.count == 100


async def test_an_event_about_a_cluster_wide_object_is_in_default(kube: Kube, space: str) -> None:
    uid = (await kube.get(NAMESPACE, Key("", space), Object)).metadata.uid
    about = ObjectReference(api_version="v1", kind="Namespace", name=space, uid=uid)
    async with recorder(kube) as told:
        told.record(about, CREATED)
        (event,) = await written(kube, "default", uid)
    assert event.metadata.namespace == "default"


async def test_a_note_that_is_too_long_is_cut_and_not_refused(kube: Kube, space: str) -> None:
    about = await reference(kube, space)
    async with recorder(kube) as told:
        told.record(about, msgspec.structs.replace(CREATED, note="grün " * 1000))
        (event,) = await written(kube, space, about.uid)
    assert event.note.endswith("...")


async def test_an_event_that_lived_out_is_written_anew(kube: Kube, space: str) -> None:
    about = await reference(kube, space)
    async with recorder(kube) as told:
        told.record(about, CREATED)
        (event,) = await written(kube, space, about.uid)
        await kube.delete(EVENT, Key(space, event.metadata.name), uid=event.metadata.uid)
        told.record(about, CREATED)
        (again,) = await written(kube, space, about.uid)
    assert again.series is not None
    assert again.series.count == 2


async def test_one_refused_event_does_not_stop_the_others(kube: Kube, space: str) -> None:
    about = await reference(kube, space)
    elsewhere = msgspec.structs.replace(about, namespace="no-such-namespace")
    async with recorder(kube) as told:
        told.record(elsewhere, CREATED)
        told.record(about, CREATED)
        assert len(await written(kube, space, about.uid)) == 1


async def test_what_is_left_is_written_at_the_end(kube: Kube, space: str) -> None:
    about = await reference(kube, space)
    told = Recorder(kube, "host-1", gap=timedelta(hours=1))
    for _ in range(3):
        told.record(about, CREATED)
        await told.drain(limit_seconds=patient(10))
    (event,) = await written(kube, space, about.uid, total=3)
    assert event.series is not None
    assert event.series.count == 3
