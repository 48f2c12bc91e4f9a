"""A store keeps the newest state of each object and finds it by key and by index."""

from manta_common.keys import Key
from manta_common.store import Held, StoreWriter


def held(name: str, text: str = "x", *, uid: str = "u", version: int = 1) -> Held[str]:
    return Held(Key("n", name), uid, version, text)


def by_letter() -> StoreWriter[str]:
    return StoreWriter({"letter": list})


def test_an_object_is_found_by_its_key() -> None:
    store = by_letter()
    assert store.put(held("a", "xy")) is None
    assert store.get(Key("n", "a")) == "xy"
    assert store.get(Key("n", "b")) is None
    assert len(store) == 1


def test_an_index_finds_objects_in_the_order_of_their_keys() -> None:
    store = by_letter()
    for name, text in (("b", "xz"), ("a", "xy"), ("c", "z")):
        store.put(held(name, text))
    assert store.find("letter", "x") == ["xy", "xz"]
    assert store.find("letter", "q") == []


def test_a_change_moves_the_object_in_the_index() -> None:
    store = by_letter()
    store.put(held("a", "x"))
    before = store.put(held("a", "y", version=2))
    assert before is not None
    assert before.object == "x"
    assert store.find("letter", "x") == []
    assert store.find("letter", "y") == ["y"]


def test_an_older_state_of_the_same_object_is_ignored() -> None:
    store = by_letter()
    store.put(held("a", "new", version=5))
    store.put(held("a", "old", version=4))
    assert store.get(Key("n", "a")) == "new"


def test_another_object_of_the_same_name_counts_whatever_its_version() -> None:
    store = by_letter()
    store.put(held("a", "first", version=5))
    store.put(held("a", "second", uid="v", version=4))
    assert store.get(Key("n", "a")) == "second"


def test_a_removed_object_is_nowhere() -> None:
    store = by_letter()
    store.put(held("a", "x"))
    removed = store.remove(Key("n", "a"))
    assert removed is not None
    assert removed.object == "x"
    assert store.remove(Key("n", "a")) is None
    assert store.find("letter", "x") == []
    assert list(store) == []
