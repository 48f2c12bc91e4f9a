"""Who holds which fields is worked out late, and comes out the same."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, NAMESPACE
from manta_common.kube.protocol import MergePatch
from manta_embedded.store.bodies import encoded, reads_managed_fields
from manta_embedded.store.managers import DEEPEST, UPDATERS, ManagedFields, read
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store
from manta_embedded.store.writers import Writer
from tests.contract.api.api import HandClock
from tests.contract.kube.objects import ConfigMap

KEY = Key("space", "one")
WRITES = st.lists(
    st.tuples(
        st.sampled_from(["x", "y"]), st.dictionaries(st.sampled_from("abc"), st.none() | st.sampled_from(["1", "2"]))
    ),
    max_size=8,
)


def opened() -> Store:
    store = Store(HandClock(), random.Random(0))
    store.create(NAMESPACE, "", {"metadata": {"name": "space"}})
    return store


def held(obj: Obj) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"]["managedFields"]}


def written(writes: list[tuple[str, dict[str, str | None]]], *, look: bool) -> dict[str, Any]:
    store = opened()
    store.create(CONFIGMAP, "space", {"metadata": {"name": "one"}, "data": {"a": "1"}}, Writer("x"))
    for manager, entries in writes:
        made = store.patch(CONFIGMAP, KEY, MergePatch({"data": entries}), Writer(manager))
        if look:
            held(made)
    return held(store.get(CONFIGMAP, KEY))


@settings(deadline=None)
@given(WRITES)
def test_it_does_not_matter_when_one_looks(writes: list[tuple[str, dict[str, str | None]]]) -> None:
    assert written(writes, look=True) == written(writes, look=False)


def test_a_long_chain_of_writes_is_worked_out_on_the_way() -> None:
    writes: list[tuple[str, dict[str, str | None]]] = [("y", {"b": str(number)}) for number in range(DEEPEST + 5)]
    assert written(writes, look=False) == {"x": {"f:data": {".": {}, "f:a": {}}}, "y": {"f:data": {"f:b": {}}}}


def test_too_many_updaters_are_told_as_one() -> None:
    writes: list[tuple[str, dict[str, str | None]]] = [(f"m{number:02}", {f"k{number}": "1"}) for number in range(15)]
    found = written(writes, look=False)
    assert len(found) == UPDATERS
    assert "ancient-changes" in found


def test_entries_can_be_read_back() -> None:
    store = opened()
    made = store.create(CONFIGMAP, "space", {"metadata": {"name": "one"}, "data": {"a": "1"}}, Writer("x"))
    entries = made["metadata"]["managedFields"]
    assert isinstance(entries, ManagedFields)
    assert read(list(entries)) == entries.managers()


def test_only_types_that_have_a_place_for_them_get_them() -> None:
    store = opened()
    made = store.create(CONFIGMAP, "space", {"metadata": {"name": "one"}, "data": {"a": "1"}})
    assert not reads_managed_fields(ConfigMap)
    assert reads_managed_fields(dict)
    assert b"FieldsV1" in encoded(made)
    assert b"FieldsV1" not in encoded(made, managed=False)
