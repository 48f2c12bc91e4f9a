"""What get and list promise."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import msgspec
import pytest

from manta_common.errors import NotFound, Refused, Rejected
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, NAMESPACE, SECRET
from manta_common.kube.protocol import KindMissing, Kube, Scope
from manta_common.kube.settings import KubeSettings
from tests.contract.kube.objects import UNKNOWN, WIDGET, ConfigMap, Object, Widget, configmap, make, of, widget

MakeKube = Callable[[KubeSettings], AbstractAsyncContextManager[Kube]]


class Numbered(msgspec.Struct):
    """Something that a config map is not."""

    data: dict[str, int]


async def test_get_returns_what_was_created(kube: Kube, space: str) -> None:
    made = await make(kube, space, "one", key="value")
    assert await kube.get(CONFIGMAP, Key(space, "one"), ConfigMap) == made
    assert made.data == {"key": "value"}


async def test_get_of_a_cluster_wide_object_needs_no_namespace(kube: Kube, space: str) -> None:
    assert (await kube.get(NAMESPACE, Key("", space), Object)).metadata.name == space


async def test_get_of_what_is_not_there_is_not_found(kube: Kube, space: str) -> None:
    with pytest.raises(NotFound, match='configmaps "none" not found'):
        await kube.get(CONFIGMAP, Key(space, "none"), Object)


async def test_get_in_a_namespace_that_is_not_there_is_not_found(kube: Kube) -> None:
    with pytest.raises(NotFound):
        await kube.get(CONFIGMAP, Key("no-such-namespace", "none"), Object)


async def test_get_of_a_kind_that_is_not_served_says_so(kube: Kube, space: str) -> None:
    with pytest.raises(KindMissing, match=r"does not serve gadgets\.contract\.manta\.example"):
        await kube.get(UNKNOWN, Key(space, "one"), Object)


@pytest.mark.parametrize("name", ["", ".", "..", "../secrets/x", "a/b", "a%2Fb", "a?b", "a\r\nb", "grün"])
async def test_a_name_that_cannot_be_one_leads_nowhere_else(kube: Kube, space: str, name: str) -> None:
    with pytest.raises(Refused, match="cannot be the name"):
        await kube.get(SECRET, Key(space, name), Object)


async def test_an_object_that_does_not_fit_the_type_is_rejected(kube: Kube, space: str) -> None:
    await make(kube, space, "one", key="text")
    with pytest.raises(Rejected, match="ConfigMap cannot be read"):
        await kube.get(CONFIGMAP, Key(space, "one"), Numbered)


async def test_an_object_can_be_had_as_it_is(kube: Kube, space: str) -> None:
    await make(kube, space, "one", key="value")
    raw = await kube.get(CONFIGMAP, Key(space, "one"), msgspec.Raw)
    assert msgspec.json.decode(raw, type=ConfigMap).data == {"key": "value"}


async def test_every_script_survives(kube: Kube, space: str) -> None:
    text = 'grün 日本語 🐟 \u2028 "quoted" \\ \t'
    await make(kube, space, "one", key=text)
    assert (await kube.get(CONFIGMAP, Key(space, "one"), ConfigMap)).data["key"] == text
    assert (await kube.list(CONFIGMAP, ConfigMap, of(space))).items[0].data["key"] == text


async def test_a_list_of_nothing_is_empty_and_has_a_version(kube: Kube, space: str) -> None:
    found = await kube.list(CONFIGMAP, Object, of(space))
    assert found.items == ()
    assert int(found.version) > 0


async def test_a_list_sees_the_newest_write(kube: Kube, space: str) -> None:
    for number in range(5):
        made = await make(kube, space, f"one-{number}")
        found = await kube.list(CONFIGMAP, ConfigMap, of(space))
        assert made in found.items
        assert int(found.version) >= int(made.metadata.resource_version)


@pytest.mark.parametrize("page_size", [1, 3, 8, 100])
async def test_a_list_in_pages_is_whole_and_has_nothing_twice(
    kube: Kube, make_kube: MakeKube, space: str, page_size: int
) -> None:
    wanted = [await make(kube, space, f"item-{number}") for number in range(8)]
    async with make_kube(KubeSettings(page_size=page_size)) as paged:
        found = await paged.list(CONFIGMAP, ConfigMap, of(space))
    assert list(found.items) == wanted


async def test_a_list_in_pages_is_of_one_version(kube: Kube, make_kube: MakeKube, space: str) -> None:
    made = [await make(kube, space, f"item-{number}") for number in range(4)]
    async with make_kube(KubeSettings(page_size=2)) as paged:
        version = (await paged.list(CONFIGMAP, Object, of(space))).version
    assert int(version) >= int(made[-1].metadata.resource_version)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        pytest.param("suite=kube", ["a", "b", "c"], id="equal"),
        pytest.param("tier=front", ["a"], id="another"),
        pytest.param("tier!=front,suite=kube", ["b", "c"], id="not equal"),
        pytest.param("tier in (front,back)", ["a", "b"], id="one of"),
        pytest.param("suite,!tier", ["c"], id="there, and not there"),
    ],
)
async def test_a_list_by_labels(kube: Kube, space: str, labels: str, names: list[str]) -> None:
    await make(kube, space, "a", {"tier": "front"})
    await make(kube, space, "b", {"tier": "back"})
    await make(kube, space, "c")
    found = await kube.list(CONFIGMAP, Object, of(space, labels=labels))
    assert [item.metadata.name for item in found.items] == names


async def test_a_list_by_a_field(kube: Kube, space: str) -> None:
    await make(kube, space, "a")
    await make(kube, space, "b")
    found = await kube.list(CONFIGMAP, Object, of(space, fields="metadata.name=b"))
    assert [item.metadata.name for item in found.items] == ["b"]


async def test_a_selector_that_is_none_is_refused(kube: Kube, space: str) -> None:
    with pytest.raises(Refused) as refusal:
        await kube.list(CONFIGMAP, Object, of(space, labels="a in b in c"))
    assert refusal.value.code == 400


async def test_a_list_of_all_namespaces(kube: Kube, space: str) -> None:
    await make(kube, space, "one", {"only": space})
    found = await kube.list(CONFIGMAP, Object, Scope(labels=f"only={space}"))
    assert [(item.metadata.namespace, item.metadata.name) for item in found.items] == [(space, "one")]


async def test_a_list_of_a_kind_that_is_not_served_is_an_error_and_not_empty(kube: Kube) -> None:
    with pytest.raises(KindMissing):
        await kube.list(UNKNOWN, Object)


async def test_a_list_with_an_object_that_does_not_fit_is_rejected(kube: Kube, space: str) -> None:
    await make(kube, space, "one", key="text")
    with pytest.raises(Rejected):
        await kube.list(CONFIGMAP, Numbered, of(space))


async def test_versions_are_listed_with_metadata_only(kube: Kube, space: str) -> None:
    made = [await make(kube, space, f"item-{number}", {"number": str(number)}) for number in range(3)]
    found = await kube.list_versions(CONFIGMAP, of(space))
    assert list(found.items) == [item.metadata for item in made]
    assert int(found.version) >= int(made[-1].metadata.resource_version)


async def test_versions_are_listed_in_pages_and_by_labels(kube: Kube, make_kube: MakeKube, space: str) -> None:
    for number in range(5):
        await make(kube, space, f"item-{number}", {"odd": str(number % 2)})
    async with make_kube(KubeSettings(page_size=2)) as paged:
        found = await paged.list_versions(CONFIGMAP, of(space, labels="odd=0"))
    assert [item.name for item in found.items] == ["item-0", "item-2", "item-4"]


async def test_an_object_of_14_megabytes_is_read_and_listed(kube: Kube, space: str) -> None:
    text = "x" * 1_400_000
    await kube.create(WIDGET, space, widget("big", text=text), Object)
    assert (await kube.get(WIDGET, Key(space, "big"), Widget)).spec == {"text": text}
    assert (await kube.list(WIDGET, Widget, Scope(namespace=space))).items[0].spec == {"text": text}
    assert [item.name for item in (await kube.list_versions(WIDGET, Scope(namespace=space))).items] == ["big"]


async def test_the_time_is_the_servers(kube: Kube, space: str) -> None:
    made = await kube.create(CONFIGMAP, space, configmap("one"), Object)
    assert made.metadata.creation_timestamp is not None
    assert abs(kube.now() - made.metadata.creation_timestamp) < timedelta(seconds=2.5)
