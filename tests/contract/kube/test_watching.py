"""What a watch promises."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing

import pytest

from manta_common.errors import Expired
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP
from manta_common.kube.protocol import Change, KindMissing, Kube, MergePatch, Scope
from manta_common.kube.settings import KubeSettings
from tests.contract.kube.objects import (
    LIMIT_SECONDS,
    UNKNOWN,
    WIDGET,
    ConfigMap,
    Object,
    Widget,
    changes,
    make,
    objects,
    of,
    widget,
)
from tests.parts.patience import patient

MakeKube = Callable[[KubeSettings], AbstractAsyncContextManager[Kube]]


def names(found: list[Change[ConfigMap]]) -> list[tuple[str, str]]:
    return [(change.type, change.object.metadata.name if change.object else "") for change in found]


async def version(kube: Kube, space: str) -> str:
    """The version of this moment."""
    return (await kube.list(CONFIGMAP, Object, of(space))).version


async def test_every_change_of_an_object_is_seen_in_order(kube: Kube, space: str) -> None:
    since = await version(kube, space)
    made = await make(kube, space, "one", key="1")
    await kube.patch(CONFIGMAP, Key(space, "one"), MergePatch({"data": {"key": "2"}}), Object)
    await kube.delete(CONFIGMAP, Key(space, "one"), uid=made.metadata.uid)
    found = await changes(kube, 3, of(space), since=since)
    assert names(found) == [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]
    assert [change.object.data["key"] for change in found if change.object] == ["1", "2", "2"]


async def test_what_comes_later_is_seen_too(kube: Kube, space: str) -> None:
    seen = asyncio.create_task(changes(kube, 2, of(space), since=await version(kube, space)))
    await make(kube, space, "one")
    await make(kube, space, "two")
    assert names(await seen) == [("ADDED", "one"), ("ADDED", "two")]


async def test_what_was_before_the_version_is_not_seen(kube: Kube, space: str) -> None:
    await make(kube, space, "before")
    since = await version(kube, space)
    await make(kube, space, "after")
    assert names(await changes(kube, 1, of(space), since=since)) == [("ADDED", "after")]


async def test_a_change_has_the_version_of_its_object(kube: Kube, space: str) -> None:
    since = await version(kube, space)
    made = await make(kube, space, "one")
    (change,) = await changes(kube, 1, of(space), since=since)
    assert change.version == made.metadata.resource_version
    assert change.object == made


async def test_a_deletion_has_a_version_after_the_last_change(kube: Kube, space: str) -> None:
    made = await make(kube, space, "one")
    await kube.delete(CONFIGMAP, Key(space, "one"), uid=made.metadata.uid)
    (change,) = await changes(kube, 1, of(space), since=made.metadata.resource_version)
    assert change.type == "DELETED"
    assert int(change.version) > int(made.metadata.resource_version)


async def test_watching_on_from_the_last_version_misses_nothing(kube: Kube, space: str) -> None:
    since = await version(kube, space)
    for number in range(6):
        await make(kube, space, f"item-{number}")
    found: list[Change[ConfigMap]] = []
    for _ in range(3):
        found += await changes(kube, 2, of(space), since=found[-1].version if found else since)
    assert names(found) == [("ADDED", f"item-{number}") for number in range(6)]


async def test_a_list_and_a_watch_from_it_leave_no_gap(kube: Kube, space: str) -> None:
    async def write() -> None:
        for number in range(30):
            await make(kube, space, f"item-{number:02}")

    writing = asyncio.create_task(write())
    await changes(kube, 10, of(space), since=await version(kube, space))
    listed = await kube.list(CONFIGMAP, ConfigMap, of(space))
    seen = {item.metadata.name for item in listed.items}
    left = await changes(kube, 30 - len(seen), of(space), since=listed.version) if len(seen) < 30 else []
    await writing
    assert len(seen) + len(left) == 30
    assert seen | {name for _, name in names(left)} == {f"item-{number:02}" for number in range(30)}


async def test_an_object_that_loses_its_label_is_deleted_for_those_who_watch_by_it(kube: Kube, space: str) -> None:
    await make(kube, space, "one", {"tier": "front"})
    since = await version(kube, space)
    await kube.patch(CONFIGMAP, Key(space, "one"), MergePatch({"metadata": {"labels": {"tier": "back"}}}), Object)
    await kube.patch(CONFIGMAP, Key(space, "one"), MergePatch({"metadata": {"labels": {"tier": "front"}}}), Object)
    found = await changes(kube, 2, of(space, labels="tier=front"), since=since)
    assert names(found) == [("DELETED", "one"), ("ADDED", "one")]


async def test_a_watch_by_a_field(kube: Kube, space: str) -> None:
    since = await version(kube, space)
    await make(kube, space, "one")
    await make(kube, space, "two")
    assert names(await changes(kube, 1, of(space, fields="metadata.name=two"), since=since)) == [("ADDED", "two")]


async def test_a_watch_of_all_namespaces_and_of_one(kube: Kube, space: str, other_space: str) -> None:
    since = await version(kube, space)
    await make(kube, other_space, "elsewhere", {"only": space})
    await make(kube, space, "here", {"only": space})
    everywhere = await changes(kube, 2, Scope(labels=f"only={space}"), since=since)
    assert names(everywhere) == [("ADDED", "elsewhere"), ("ADDED", "here")]
    assert names(await changes(kube, 1, of(space, labels=f"only={space}"), since=since)) == [("ADDED", "here")]


async def test_a_watch_brings_bookmarks_and_ends_by_itself(
    kube: Kube, make_kube: MakeKube, space: str, other_space: str
) -> None:
    since = await version(kube, space)
    await make(kube, other_space, "other")
    found: list[Change[ConfigMap]] = []
    async with make_kube(KubeSettings(watch_seconds=10)) as short, asyncio.timeout(patient(LIMIT_SECONDS)):
        while not found:  # a short watch may end before its first bookmark
            found = [change async for change in short.watch(CONFIGMAP, ConfigMap, of(space), since=since)]
    assert {change.type for change in found} == {"BOOKMARK"}
    assert all(change.object is None for change in found)
    assert int(found[-1].version) > int(since)


async def test_a_version_from_before_the_servers_memory_has_expired(kube: Kube, space: str) -> None:
    await kube.create(WIDGET, space, widget("one"), Object)
    with pytest.raises(Expired):
        await changes(kube, 1, Scope(namespace=space), since="1", kind=WIDGET)


async def test_a_watch_of_a_kind_that_is_not_served_says_so(kube: Kube) -> None:
    with pytest.raises(KindMissing):
        await changes(kube, 1, since="1", kind=UNKNOWN)


async def test_an_object_of_14_megabytes_in_any_script_comes_whole(kube: Kube, space: str) -> None:
    text = "ü日🐟" * 150_000
    since = (await kube.list(WIDGET, Object, Scope(namespace=space))).version
    await kube.create(WIDGET, space, widget("big", text=text), Object)
    async with (
        asyncio.timeout(patient(LIMIT_SECONDS)),
        aclosing(kube.watch(WIDGET, Widget, Scope(namespace=space), since=since)) as stream,
    ):
        change = await anext(stream)
    assert change.object is not None
    assert change.object.spec == {"text": text}


async def test_watches_do_not_hold_up_calls(make_kube: MakeKube, kube: Kube, space: str) -> None:
    since = await version(kube, space)
    async with make_kube(KubeSettings(connections=1)) as narrow, asyncio.TaskGroup() as group:
        watching = [group.create_task(changes(narrow, 1, of(space), since=since)) for _ in range(5)]
        await make(narrow, space, "one")
    assert all(names(task.result()) == [("ADDED", "one")] for task in watching)


async def test_many_changes_come_all_and_once(kube: Kube, space: str) -> None:
    since = await version(kube, space)
    await asyncio.gather(*(make(kube, space, f"item-{number}") for number in range(60)))
    found = await changes(kube, 60, of(space), since=since)
    assert {name for _, name in names(found)} == {f"item-{number}" for number in range(60)}
    assert [int(change.version) for change in found] == sorted(int(change.version) for change in found)


async def test_a_watch_can_be_left_at_any_time(kube: Kube, space: str) -> None:
    since = await version(kube, space)
    await make(kube, space, "one")
    for _ in range(3):
        stream = objects(kube, of(space), since=since, kind=CONFIGMAP)
        assert (await anext(stream)).type == "ADDED"
        await stream.aclose()
