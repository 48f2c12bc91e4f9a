"""What patches promise: merge, JSON and server-side apply, of objects and of their status."""

from typing import Any

import pytest

from manta_common.errors import Conflict, NotFound, Refused
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP
from manta_common.kube.protocol import Apply, KindMissing, Kube, MergePatch, Patch, guarded, operations
from tests.contract.kube.objects import WIDGET, ConfigMap, Object, Widget, configmap, make, widget


@pytest.fixture
async def key(kube: Kube, space: str) -> Key:
    """A config map with three entries."""
    await make(kube, space, "one", a="1", b="2", c="3")
    return Key(space, "one")


@pytest.fixture
async def thing(kube: Kube, space: str) -> Widget:
    """A widget with a status."""
    await kube.create(WIDGET, space, widget("thing", size=1), Object)
    return await kube.patch(
        WIDGET, Key(space, "thing"), MergePatch({"status": {"state": "new"}}), Widget, subresource="status"
    )


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


async def test_a_merge_sets_and_removes(kube: Kube, key: Key) -> None:
    changed = await kube.patch(CONFIGMAP, key, MergePatch({"data": {"a": "9", "b": None, "d": "4"}}), ConfigMap)
    assert changed.data == {"a": "9", "c": "3", "d": "4"}
    assert await kube.get(CONFIGMAP, key, ConfigMap) == changed


async def test_a_merge_for_an_old_version_is_a_conflict(kube: Kube, key: Key) -> None:
    old = await kube.get(CONFIGMAP, key, ConfigMap)
    await kube.patch(CONFIGMAP, key, MergePatch({"data": {"a": "9"}}), Object)
    stale = {"metadata": {"resourceVersion": old.metadata.resource_version}, "data": {"a": "8"}}
    with pytest.raises(Conflict):
        await kube.patch(CONFIGMAP, key, MergePatch(stale), Object)
    assert (await kube.get(CONFIGMAP, key, ConfigMap)).data["a"] == "9"


async def test_a_merge_for_the_current_version_counts(kube: Kube, key: Key) -> None:
    current = await kube.get(CONFIGMAP, key, ConfigMap)
    body = {"metadata": {"resourceVersion": current.metadata.resource_version}, "data": {"a": "8"}}
    assert (await kube.patch(CONFIGMAP, key, MergePatch(body), ConfigMap)).data["a"] == "8"


async def test_a_json_patch_is_done_in_order(kube: Kube, key: Key) -> None:
    steps = operations(
        replace("/data/a", "9"), {"op": "remove", "path": "/data/b"}, {**replace("/data/d", "4"), "op": "add"}
    )
    assert (await kube.patch(CONFIGMAP, key, steps, ConfigMap)).data == {"a": "9", "c": "3", "d": "4"}


@pytest.mark.parametrize(
    "step",
    [
        pytest.param({"op": "test", "path": "/data/a", "value": "other"}, id="a failed test"),
        pytest.param({"op": "remove", "path": "/data/none"}, id="a path that is not there"),
    ],
)
async def test_a_json_patch_is_done_whole_or_not_at_all(kube: Kube, key: Key, step: dict[str, Any]) -> None:
    before = await kube.get(CONFIGMAP, key, ConfigMap)
    with pytest.raises(Conflict):
        await kube.patch(CONFIGMAP, key, operations(replace("/data/b", "9"), step), Object)
    assert await kube.get(CONFIGMAP, key, ConfigMap) == before


async def test_a_guarded_patch_counts_for_one_version_only(kube: Kube, key: Key) -> None:
    version = (await kube.get(CONFIGMAP, key, ConfigMap)).metadata.resource_version
    changed = await kube.patch(CONFIGMAP, key, guarded(version, [replace("/data/a", "9")]), ConfigMap)
    assert changed.data["a"] == "9"
    with pytest.raises(Conflict):
        await kube.patch(CONFIGMAP, key, guarded(version, [replace("/data/a", "10")]), Object)


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param(MergePatch({"data": {"a": "1"}}), id="merge"),
        pytest.param(operations({"op": "add", "path": "/data", "value": {}}), id="JSON"),
    ],
)
async def test_a_patch_of_what_is_not_there_is_not_found(kube: Kube, space: str, patch: Patch) -> None:
    with pytest.raises(NotFound, match='configmaps "none" not found'):
        await kube.patch(CONFIGMAP, Key(space, "none"), patch, Object)


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param(MergePatch({"data": {"not a key": "1"}}), id="merge"),
        pytest.param(operations({"op": "add", "path": "/data/not a key", "value": "1"}), id="JSON"),
        pytest.param(Apply({**configmap("one"), "data": {"not a key": "1"}}, "contract"), id="apply"),
    ],
)
async def test_a_patch_to_something_that_is_not_valid_is_refused(kube: Kube, key: Key, patch: Patch) -> None:
    with pytest.raises(Refused, match=r'ConfigMap "one" is invalid: data\[not a key\]') as refusal:
        await kube.patch(CONFIGMAP, key, patch, Object)
    assert refusal.value.code == 422


async def test_a_patch_that_changes_nothing_makes_no_version(kube: Kube, key: Key) -> None:
    before = await kube.get(CONFIGMAP, key, ConfigMap)
    assert await kube.patch(CONFIGMAP, key, MergePatch({"data": {"a": "1"}}), ConfigMap) == before


async def test_every_write_makes_a_greater_version(kube: Kube, key: Key) -> None:
    versions = [(await kube.get(CONFIGMAP, key, Object)).metadata.resource_version]
    for number in range(5):
        changed = await kube.patch(CONFIGMAP, key, MergePatch({"data": {"n": str(number)}}), Object)
        versions.append(changed.metadata.resource_version)
    assert [int(version) for version in versions] == sorted({int(version) for version in versions})


async def test_a_status_patch_leaves_the_spec_alone(kube: Kube, space: str, thing: Widget) -> None:
    body = {"spec": {"size": 2}, "status": {"state": "old"}}
    changed = await kube.patch(WIDGET, Key(space, "thing"), MergePatch(body), Widget, subresource="status")
    assert (changed.spec, changed.status) == ({"size": 1}, {"state": "old"})
    assert changed.metadata.generation == thing.metadata.generation


async def test_a_patch_of_the_object_leaves_the_status_alone(kube: Kube, space: str, thing: Widget) -> None:
    body = {"spec": {"size": 2}, "status": {"state": "old"}}
    changed = await kube.patch(WIDGET, Key(space, "thing"), MergePatch(body), Widget)
    assert (changed.spec, changed.status) == ({"size": 2}, {"state": "new"})
    assert changed.metadata.generation == thing.metadata.generation + 1


async def test_create_leaves_the_status_out(kube: Kube, space: str) -> None:
    body = {**widget("fresh", size=1), "status": {"state": "claimed"}}
    assert (await kube.create(WIDGET, space, body, Widget)).status == {}


async def test_a_status_patch_for_an_old_version_is_a_conflict(kube: Kube, space: str, thing: Widget) -> None:
    key = Key(space, "thing")
    await kube.patch(WIDGET, key, MergePatch({"spec": {"size": 2}}), Object)
    stale = {"metadata": {"resourceVersion": thing.metadata.resource_version}, "status": {"state": "old"}}
    with pytest.raises(Conflict):
        await kube.patch(WIDGET, key, MergePatch(stale), Object, subresource="status")
    assert (await kube.get(WIDGET, key, Widget)).status == {"state": "new"}


async def test_a_json_patch_of_the_status(kube: Kube, space: str, thing: Widget) -> None:
    steps = guarded(thing.metadata.resource_version, [replace("/status/state", "old")])
    changed = await kube.patch(WIDGET, Key(space, "thing"), steps, Widget, subresource="status")
    assert changed.status == {"state": "old"}


async def test_a_kind_without_a_status_says_so(kube: Kube, key: Key) -> None:
    with pytest.raises(KindMissing):
        await kube.patch(CONFIGMAP, key, MergePatch({"status": {}}), Object, subresource="status")


async def test_apply_creates_what_is_not_there(kube: Kube, space: str) -> None:
    made = await kube.patch(WIDGET, Key(space, "one"), Apply(widget("one", size=1), "first"), Widget)
    assert made.spec == {"size": 1}
    assert made.metadata.uid


async def test_apply_of_the_same_makes_no_version(kube: Kube, space: str) -> None:
    apply = Apply(widget("one", size=1), "first")
    made = await kube.patch(WIDGET, Key(space, "one"), apply, Widget)
    assert await kube.patch(WIDGET, Key(space, "one"), apply, Widget) == made


async def test_apply_removes_what_its_manager_no_longer_wants(kube: Kube, space: str) -> None:
    key = Key(space, "one")
    await kube.patch(WIDGET, key, Apply(widget("one", size=1, colour="red"), "first"), Widget)
    await kube.patch(WIDGET, key, Apply(widget("one", weight=7), "second"), Widget)
    changed = await kube.patch(WIDGET, key, Apply(widget("one", size=2), "first"), Widget)
    assert changed.spec == {"size": 2, "weight": 7}


async def test_apply_of_anothers_field_is_a_conflict(kube: Kube, space: str) -> None:
    key = Key(space, "one")
    await kube.patch(WIDGET, key, Apply(widget("one", size=1), "first"), Widget)
    with pytest.raises(Conflict, match=r"\.spec\.size"):
        await kube.patch(WIDGET, key, Apply(widget("one", size=2), "second", force=False), Widget)
    assert (await kube.get(WIDGET, key, Widget)).spec == {"size": 1}


async def test_forced_apply_takes_a_field_over(kube: Kube, space: str) -> None:
    key = Key(space, "one")
    await kube.patch(WIDGET, key, Apply(widget("one", size=1), "first"), Widget)
    changed = await kube.patch(WIDGET, key, Apply(widget("one", size=2), "second"), Widget)
    assert changed.spec == {"size": 2}
    with pytest.raises(Conflict):
        await kube.patch(WIDGET, key, Apply(widget("one", size=3), "first", force=False), Widget)


async def test_apply_of_the_status(kube: Kube, space: str, thing: Widget) -> None:
    body = {**widget("thing"), "status": {"level": 3}}
    changed = await kube.patch(WIDGET, Key(space, "thing"), Apply(body, "first"), Widget, subresource="status")
    assert (changed.spec, changed.status) == (thing.spec, {"state": "new", "level": 3})


async def test_two_writers_of_one_version_cannot_both_win(kube: Kube, key: Key) -> None:
    version = (await kube.get(CONFIGMAP, key, Object)).metadata.resource_version
    won = 0
    for number in range(3):
        try:
            await kube.patch(CONFIGMAP, key, guarded(version, [replace("/data/a", str(number))]), Object)
        except Conflict:
            continue
        won += 1
    assert won == 1
