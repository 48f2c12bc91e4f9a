"""What create and delete promise."""

import asyncio

import msgspec
import pytest

from manta_common.api.meta import ObjectMeta
from manta_common.errors import AlreadyExists, Conflict, NotFound, Refused
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, POD
from manta_common.kube.protocol import Body, KindMissing, Kube, MergePatch, operations
from tests.contract.kube.objects import UNKNOWN, WIDGET, ConfigMap, Object, Widget, configmap, is_gone, make, widget
from tests.parts.eventually import eventually


class Manifest(msgspec.Struct):
    """A config map as a struct to send."""

    kind: str
    metadata: ObjectMeta
    data: dict[str, str]
    api_version: str = msgspec.field(default="v1", name="apiVersion")


async def test_create_returns_what_the_server_made_of_it(kube: Kube, space: str) -> None:
    made = await kube.create(WIDGET, space, widget("one", size=3), Widget)
    assert (made.metadata.name, made.metadata.namespace, made.metadata.generation) == ("one", space, 1)
    assert made.metadata.uid
    assert int(made.metadata.resource_version) > 0
    assert made.metadata.creation_timestamp is not None
    assert made.spec == {"size": 3}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(configmap("one", key="value"), id="mapping"),
        pytest.param(msgspec.json.encode(configmap("one", key="value")), id="bytes"),
        pytest.param(Manifest("ConfigMap", ObjectMeta(name="one"), {"key": "value"}), id="struct"),
    ],
)
async def test_create_takes_every_form_of_body(kube: Kube, space: str, body: Body) -> None:
    assert (await kube.create(CONFIGMAP, space, body, ConfigMap)).data == {"key": "value"}


async def test_a_name_that_is_taken_already_exists(kube: Kube, space: str) -> None:
    made = await make(kube, space, "one", key="first")
    with pytest.raises(AlreadyExists, match='configmaps "one" already exists'):
        await make(kube, space, "one", key="second")
    assert await kube.get(CONFIGMAP, Key(space, "one"), ConfigMap) == made


async def test_of_many_creates_of_one_name_one_wins(kube: Kube, space: str) -> None:
    results = await asyncio.gather(*(make(kube, space, "one") for _ in range(8)), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["AlreadyExists"] * 7 + ["ConfigMap"]


async def test_names_can_be_left_to_the_server(kube: Kube, space: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "some-"}}
    names = {(await kube.create(CONFIGMAP, space, body, Object)).metadata.name for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("some-") and len(name) == len("some-") + 5 for name in names)


async def test_create_in_a_namespace_that_is_not_there_is_not_found(kube: Kube) -> None:
    with pytest.raises(NotFound, match='namespaces "no-such-namespace" not found'):
        await make(kube, "no-such-namespace", "one")


async def test_create_of_a_kind_that_is_not_served_says_so(kube: Kube, space: str) -> None:
    with pytest.raises(KindMissing, match="gadgets"):
        await kube.create(UNKNOWN, space, {"metadata": {"name": "one"}}, Object)


async def test_what_is_not_valid_is_refused_in_the_servers_words(kube: Kube, space: str) -> None:
    with pytest.raises(Refused, match=r'ConfigMap "Not A Name" is invalid: metadata\.name') as refusal:
        await make(kube, space, "Not A Name")
    assert (refusal.value.code, refusal.value.reason) == (422, "Invalid")


async def test_a_body_of_another_kind_is_refused(kube: Kube, space: str) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}
    with pytest.raises(Refused) as refusal:
        await kube.create(CONFIGMAP, space, body, Object)
    assert refusal.value.code == 400


async def test_an_object_of_14_megabytes_is_created(kube: Kube, space: str) -> None:
    made = await kube.create(WIDGET, space, widget("big", text="ü" * 700_000), Widget)
    assert made.spec == {"text": "ü" * 700_000}


async def test_an_object_of_4_megabytes_is_refused(kube: Kube, space: str) -> None:
    with pytest.raises(Refused) as refusal:
        await kube.create(WIDGET, space, widget("big", text="x" * 4_000_000), Object)
    assert refusal.value.code == 413


async def test_a_deleted_object_is_gone(kube: Kube, space: str) -> None:
    made = await make(kube, space, "one")
    await kube.delete(CONFIGMAP, Key(space, "one"), uid=made.metadata.uid)
    with pytest.raises(NotFound):
        await kube.get(CONFIGMAP, Key(space, "one"), Object)


async def test_delete_of_what_is_not_there_is_not_found(kube: Kube, space: str) -> None:
    with pytest.raises(NotFound):
        await kube.delete(CONFIGMAP, Key(space, "none"), uid="8b5c07a9-0000-0000-0000-000000000000")


async def test_delete_with_another_uid_is_a_conflict_and_deletes_nothing(kube: Kube, space: str) -> None:
    first = await make(kube, space, "one")
    await kube.delete(CONFIGMAP, Key(space, "one"), uid=first.metadata.uid)
    second = await make(kube, space, "one")
    with pytest.raises(Conflict):
        await kube.delete(CONFIGMAP, Key(space, "one"), uid=first.metadata.uid)
    assert await kube.get(CONFIGMAP, Key(space, "one"), ConfigMap) == second


async def test_delete_of_a_version_is_a_conflict_once_anything_has_changed_and_deletes_nothing(
    kube: Kube, space: str
) -> None:
    key, first = Key(space, "one"), await kube.create(WIDGET, space, widget("one", size=1), Widget)
    changes: list[tuple[str, Body]] = [("", {"metadata": {"labels": {"a": "b"}}}), ("status", {"status": {"ready": 1}})]
    for part, change in changes:
        before = await kube.get(WIDGET, key, Widget)
        await kube.patch(WIDGET, key, MergePatch(change), Widget, subresource=part)
        with pytest.raises(Conflict):
            await kube.delete(WIDGET, key, uid=first.metadata.uid, version=before.metadata.resource_version)
    last = await kube.get(WIDGET, key, Widget)
    version, another = last.metadata.resource_version, "8b5c07a9-0000-0000-0000-000000000000"
    with pytest.raises(Conflict):
        await kube.delete(WIDGET, key, uid=another, version=version)
    assert await kube.get(WIDGET, key, Widget) == last
    await kube.delete(WIDGET, key, uid=first.metadata.uid, version=version)
    assert await is_gone(kube, WIDGET, key)


@pytest.mark.parametrize("name", ["one", ""])
async def test_delete_without_a_uid_or_a_name_is_refused_and_deletes_nothing(kube: Kube, space: str, name: str) -> None:
    made = await make(kube, space, "one")
    with pytest.raises(Refused):
        await kube.delete(CONFIGMAP, Key(space, name), uid="" if name else made.metadata.uid)
    assert await kube.get(CONFIGMAP, Key(space, "one"), ConfigMap) == made


async def test_an_object_with_a_finalizer_stays_until_it_is_removed(kube: Kube, space: str) -> None:
    body = configmap("one")
    body["metadata"]["finalizers"] = ["contract.manta.example/keep"]
    made = await kube.create(CONFIGMAP, space, body, Object)
    await kube.delete(CONFIGMAP, Key(space, "one"), uid=made.metadata.uid)
    left = await kube.get(CONFIGMAP, Key(space, "one"), Object)
    assert left.metadata.deletion_timestamp is not None
    await kube.patch(CONFIGMAP, Key(space, "one"), operations({"op": "remove", "path": "/metadata/finalizers"}), Object)
    assert await is_gone(kube, CONFIGMAP, Key(space, "one"))


async def test_what_an_object_owns_goes_with_it_in_the_background(kube: Kube, space: str) -> None:
    owner = await make(kube, space, "owner")
    body = configmap("owned")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid}
    body["metadata"]["ownerReferences"] = [reference]
    await kube.create(CONFIGMAP, space, body, Object)
    await kube.delete(CONFIGMAP, Key(space, "owner"), uid=owner.metadata.uid)
    assert await is_gone(kube, CONFIGMAP, Key(space, "owner"))
    await eventually(
        "what it owned is gone too", lambda: is_gone(kube, CONFIGMAP, Key(space, "owned")), limit_seconds=60
    )


async def test_a_pod_deleted_without_grace_is_gone_at_once(kube: Kube, space: str) -> None:
    spec = {"nodeSelector": {"none": "such"}, "containers": [{"name": "main", "image": "example/none:1"}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": spec}
    made = await kube.create(POD, space, body, Object)
    await kube.delete(POD, Key(space, "one"), uid=made.metadata.uid, grace_seconds=0)
    assert await is_gone(kube, POD, Key(space, "one"))
