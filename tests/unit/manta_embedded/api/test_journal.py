"""What was stored is there after a restart, whatever became of the last line."""

import errno
import os
import pathlib
import random
from collections.abc import Callable

import pytest

from manta_common.clock import SystemClock
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, CRD, SERVICE
from manta_common.kube.protocol import Apply, MergePatch
from manta_embedded.api import journal
from manta_embedded.api.journal import Journal
from manta_embedded.store.bodies import encoded
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.store import Store
from manta_embedded.store.writers import Writer
from tests.contract.api.objects import DEFINITIONS, WIDGET, configmap, service, widget

ONE = Key("default", "one")


def opened(folder: pathlib.Path) -> tuple[Store, Journal]:
    """A store with what the folder holds, which is followed."""
    found = Journal(folder / journal.FILE)
    store = Store(SystemClock(), random.Random(0), saved=found.saved)
    found.follow(store, encoded)
    return store, found


def written(folder: pathlib.Path, *acts: Callable[[Store], object]) -> Store:
    """What a store is after acts; its journal is closed."""
    store, found = opened(folder)
    for act in acts:
        act(store)
    found.close()
    return store


def make(store: Store) -> None:
    store.create(CONFIGMAP, "default", configmap("one", a="1"), Writer("me"))


def change(store: Store) -> None:
    store.patch(CONFIGMAP, ONE, MergePatch({"data": {"a": "2"}}), Writer("you"))


def remove(store: Store) -> None:
    store.delete(CONFIGMAP, ONE, Deletion())


def texts(store: Store) -> list[bytes]:
    return sorted(encoded(obj) for _, _, obj in store.everything())


def test_everything_is_there_again_under_its_version(tmp_path: pathlib.Path) -> None:
    before = written(tmp_path, make, change, lambda store: store.create(SERVICE, "default", service("front")))
    after, found = opened(tmp_path)
    assert texts(after) == texts(before)
    assert after.version == before.version
    assert found.notes == []


def test_what_was_deleted_stays_so(tmp_path: pathlib.Path) -> None:
    before = written(tmp_path, make, remove)
    after, _ = opened(tmp_path)
    assert after.find(CONFIGMAP, ONE) is None
    assert after.version == before.version


def test_custom_resources_come_back_with_their_kind(tmp_path: pathlib.Path) -> None:
    written(
        tmp_path,
        lambda store: store.create(CRD, "", DEFINITIONS[0]),
        lambda store: store.create(WIDGET, "default", widget("one", size=1)),
    )
    after, _ = opened(tmp_path)
    assert after.get(WIDGET, ONE)["spec"] == {"size": 1}


def test_who_holds_what_is_known_again(tmp_path: pathlib.Path) -> None:
    written(tmp_path, make)
    after, _ = opened(tmp_path)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "3"}}
    with pytest.raises(Exception, match='conflict with "me"'):
        after.patch(CONFIGMAP, ONE, Apply(body, "other", force=False))


def test_an_address_is_not_given_twice(tmp_path: pathlib.Path) -> None:
    before = written(tmp_path, lambda store: store.create(SERVICE, "default", service("front")))
    address = before.get(SERVICE, Key("default", "front"))["spec"]["clusterIP"]
    after, _ = opened(tmp_path)
    with pytest.raises(Exception, match="already allocated"):
        after.create(SERVICE, "default", service("other", clusterIP=address))


@pytest.mark.parametrize("kept", [1, 9, 40, 120])
def test_a_torn_tail_is_cut_off_and_told(tmp_path: pathlib.Path, kept: int) -> None:
    written(tmp_path, make)
    whole = (tmp_path / journal.FILE).read_bytes()
    written(tmp_path, change)
    path = tmp_path / journal.FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:kept])
    after, found = opened(tmp_path)
    assert after.get(CONFIGMAP, ONE)["data"] == {"a": "1"}
    assert f"{kept} bytes are cut off" in found.notes[0]
    found.close()
    assert len(path.read_bytes()) <= len(whole)


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        pytest.param(lambda raw: b"something else\n", "does not begin as such a file does", id="another file"),
        pytest.param(lambda raw: raw.replace(b'"default"', b'"defamed"', 1), "is broken", id="a changed line"),
        pytest.param(lambda raw: b"", "does not begin as such a file does", id="an empty file"),
    ],
)
def test_a_broken_file_is_kept_aside_and_told(tmp_path: pathlib.Path, harm: Callable[[bytes], bytes], why: str) -> None:
    written(tmp_path, make)
    path = tmp_path / journal.FILE
    broken = harm(path.read_bytes())
    path.write_bytes(broken)
    after, found = opened(tmp_path)
    assert after.find(CONFIGMAP, ONE) is None
    assert why in found.notes[0]
    assert (tmp_path / "objects.broken-1").read_bytes() == broken


def test_a_file_that_has_grown_is_written_anew(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "LEAST_BYTES", 10_000)
    store, found = opened(tmp_path)
    make(store)
    for number in range(200):
        store.patch(CONFIGMAP, ONE, MergePatch({"data": {"a": str(number)}}))
    found.close()
    assert (tmp_path / journal.FILE).stat().st_size < 30_000
    after, _ = opened(tmp_path)
    assert after.get(CONFIGMAP, ONE)["data"] == {"a": "199"}
    assert after.version == store.version


def test_what_could_not_be_written_on_a_full_disk_is_in_the_next_file(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, found = opened(tmp_path)
    make(store)
    with monkeypatch.context() as full:
        full.setattr(os, "write", _no_room)
        full.setattr(os, "fsync", _no_room)
        change(store)
    assert opened(tmp_path)[0].get(CONFIGMAP, ONE)["data"] == {"a": "1"}
    store.create(CONFIGMAP, "default", configmap("two"))
    found.close()
    after, _ = opened(tmp_path)
    assert texts(after) == texts(store)


def _no_room(*_given: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")
