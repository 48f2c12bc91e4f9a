"""What the store promises beyond the API: the same run twice, history that ends, listeners, a world of its own."""

import random
from datetime import timedelta

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, NAMESPACE, POD, SERVICE
from manta_common.kube.protocol import MergePatch
from manta_embedded.store.admission import Review
from manta_embedded.store.changes import Event
from manta_embedded.store.errors import StatusError, forbidden
from manta_embedded.store.objects import Obj
from manta_embedded.store.queries import Query
from manta_embedded.store.store import EPOCH, Store
from tests.contract.api.api import HandClock


def opened(seed: int = 0, history: int = 10_000) -> Store:
    store = Store(HandClock(), random.Random(seed), history=history)
    store.create(NAMESPACE, "", {"metadata": {"name": "space"}})
    return store


def make(store: Store, name: str, **entries: str) -> Obj:
    return store.create(CONFIGMAP, "space", {"metadata": {"name": name}, "data": entries})


def change(store: Store, name: str, **entries: str) -> Obj:
    return store.patch(CONFIGMAP, Key("space", name), MergePatch({"data": entries}))


def run(seed: int) -> list[tuple[str, str, str]]:
    store = opened(seed)
    for _ in range(3):
        store.create(CONFIGMAP, "space", {"metadata": {"generateName": "some-"}})
    store.create(SERVICE, "space", {"metadata": {"name": "one"}, "spec": {"ports": [{"port": 80}]}})
    address = store.get(SERVICE, Key("space", "one"))["spec"]["clusterIP"]
    found = [obj["metadata"] for obj in store.objects(CONFIGMAP, "space")]
    return [(meta["name"], meta["uid"], address) for meta in found]


def test_two_runs_with_one_seed_are_the_same() -> None:
    assert run(7) == run(7)
    assert run(7) != run(8)


def test_two_stores_do_not_see_each_other() -> None:
    one, other = opened(), opened()
    make(one, "one")
    assert other.find(CONFIGMAP, Key("space", "one")) is None
    assert other.version < one.version


def test_the_time_is_that_of_the_clock() -> None:
    clock = HandClock()
    store = Store(clock, random.Random(0))
    clock.seconds += 90
    assert store.now() == EPOCH + timedelta(seconds=90)
    made = store.create(NAMESPACE, "", {"metadata": {"name": "one"}})
    assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:01:30Z"


def test_what_was_handed_out_is_never_changed() -> None:
    store = opened()
    made = make(store, "one", a="1")
    version = made["metadata"]["resourceVersion"]
    change(store, "one", a="2")
    assert (made["data"], made["metadata"]["resourceVersion"]) == ({"a": "1"}, version)


def test_a_change_shares_what_it_leaves_alone() -> None:
    store = opened()
    body = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
    store.create(POD, "space", body)
    before = store.get(POD, Key("space", "one"))
    after = store.patch(POD, Key("space", "one"), MergePatch({"status": {"phase": "Running"}}), subresource="status")
    assert after["spec"] is before["spec"]


def test_equal_parts_of_pods_are_kept_once() -> None:
    store = opened()
    for name in ("one", "two"):
        container = {"name": "a", "image": "b", "env": [{"name": "A", "value": "1"}]}
        store.create(POD, "space", {"metadata": {"name": name}, "spec": {"containers": [container]}})
    one, two = (store.get(POD, Key("space", name))["spec"]["containers"][0] for name in ("one", "two"))
    assert one["env"] is two["env"]


def test_a_listener_hears_every_commit_in_order_until_it_leaves() -> None:
    store, heard = opened(), list[Event]()
    leave = store.subscribe(heard.append)
    make(store, "one", a="1")
    change(store, "one", a="2")
    change(store, "one", a="2")
    store.delete(CONFIGMAP, Key("space", "one"))
    leave()
    make(store, "two")
    assert [event.type for event in heard] == ["ADDED", "MODIFIED", "DELETED"]
    assert [event.version for event in heard] == sorted(event.version for event in heard)
    assert heard[2].old is not None
    assert heard[2].old["data"] == {"a": "2"}


def test_history_ends_and_says_so() -> None:
    store = opened(history=3)
    first = make(store, "one", n="0")
    for number in range(1, 6):
        change(store, "one", n=str(number))
    with pytest.raises(StatusError, match="too old resource version") as refusal:
        store.watch(CONFIGMAP, since=first["metadata"]["resourceVersion"])
    assert refusal.value.code == 410
    assert len(store.watch(CONFIGMAP, since=str(store.version - 3)).pending()) == 3


def test_compaction_forgets_what_was_and_keeps_what_is() -> None:
    store = opened()
    made = make(store, "one")
    store.compact()
    with pytest.raises(StatusError):
        store.watch(CONFIGMAP, since=str(int(made["metadata"]["resourceVersion"]) - 1))
    assert store.watch(CONFIGMAP, since=str(store.version)).pending() == []
    assert [obj["metadata"]["name"] for obj in store.objects(CONFIGMAP)] == ["one"]


def test_a_page_that_expired_comes_with_a_token_to_go_on_with() -> None:
    store = opened()
    for name in "abc":
        make(store, name)
    page = store.list(CONFIGMAP, Query(limit=1))
    make(store, "b2")
    store.compact()
    with pytest.raises(StatusError, match="The provided continue parameter is too old") as refusal:
        store.list(CONFIGMAP, Query(next=page.next))
    assert refusal.value.code == 410
    rest = store.list(CONFIGMAP, Query(next=refusal.value.metadata["continue"]))
    assert [obj["metadata"]["name"] for obj in rest.items] == ["b", "b2", "c"]


def test_a_list_as_it_was_undoes_what_came_later() -> None:
    store = opened()
    make(store, "a", n="1")
    make(store, "b")
    version = str(store.version)
    change(store, "a", n="2")
    store.delete(CONFIGMAP, Key("space", "b"))
    make(store, "c")
    found = store.list(CONFIGMAP, Query(version=version, exact=True))
    assert [(obj["metadata"]["name"], obj.get("data")) for obj in found.items] == [("a", {"n": "1"}), ("b", None)]


def test_a_closed_watch_hears_nothing_more() -> None:
    store = opened()
    watch = store.watch(CONFIGMAP, since=str(store.version))
    watch.close()
    make(store, "one")
    assert watch.pending() == []


class Doorman:
    """Marks what comes in, and refuses what is called `evil`."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def admit(self, review: Review) -> Obj | None:
        self.seen.append(f"{review.operation} {review.key.name}")
        if review.key.name == "evil":
            raise forbidden(review.served, "evil", "no")
        if review.new is None:
            return None
        return {**review.new, "data": {**review.new.get("data", {}), "seen": "yes"}}


def test_admission_sees_every_write_and_may_change_or_refuse_it() -> None:
    store, doorman = opened(), Doorman()
    store.admissions.append(doorman)
    assert make(store, "one")["data"] == {"seen": "yes"}
    store.delete(CONFIGMAP, Key("space", "one"))
    with pytest.raises(StatusError, match='configmaps "evil" is forbidden: no'):
        make(store, "evil")
    assert store.find(CONFIGMAP, Key("space", "evil")) is None
    assert doorman.seen == ["CREATE one", "DELETE one", "CREATE evil"]


def test_a_pod_is_put_on_a_node_once() -> None:
    store = opened()
    body = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
    store.create(POD, "space", body)
    bound = store.bind(Key("space", "one"), "node-1")
    assert bound["spec"]["nodeName"] == "node-1"
    assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
    with pytest.raises(StatusError, match='is already assigned to node "node-1"'):
        store.bind(Key("space", "one"), "node-2")
