"""Owners and what becomes of those they own."""

from typing import Any

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, SECRET
from manta_embedded.store.builtin import CLUSTERROLE
from tests.contract.api.api import Api
from tests.contract.api.objects import WIDGET, configmap, widget
from tests.contract.api.steps import find, merge, reference, wait_for, wait_until_gone

Obj = dict[str, Any]
HOLD = "contract.manta.example/hold"


def make(api: Api, space: str, name: str, *owners: Obj, **metadata: Any) -> Obj:
    body = configmap(name)
    body["metadata"] |= {"ownerReferences": list(owners), **metadata}
    return api.create(CONFIGMAP, space, body)


def ghost(name: str = "ghost") -> Obj:
    uid = "00000000-0000-4000-8000-000000000000"
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}


def wait_for_the_collector(api: Api, space: str) -> None:
    """Return once the garbage collector has looked at something that was created just now."""
    make(api, space, "sentinel", ghost())
    wait_until_gone(api, CONFIGMAP, Key(space, "sentinel"))


def let_go(api: Api, space: str, name: str) -> None:
    merge(api, CONFIGMAP, Key(space, name), {"metadata": {"finalizers": None}})


def test_what_is_owned_goes_with_its_owner_down_the_line(api: Api, space: str) -> None:
    owner = make(api, space, "owner")
    child = make(api, space, "child", reference(owner))
    make(api, space, "grandchild", reference(child))
    api.delete(CONFIGMAP, Key(space, "owner"), propagationPolicy="Background")
    assert find(api, CONFIGMAP, Key(space, "owner")) is None
    for name in ("child", "grandchild"):
        wait_until_gone(api, CONFIGMAP, Key(space, name))


def test_a_custom_resource_owns_like_any_other(api: Api, space: str) -> None:
    owner = api.create(WIDGET, space, widget("owner"))
    make(api, space, "child", reference(owner))
    api.delete(WIDGET, Key(space, "owner"))
    wait_until_gone(api, CONFIGMAP, Key(space, "child"), limit_seconds=90)  # new kinds are learnt every 30 s


def test_one_living_owner_is_enough_and_the_dead_one_is_forgotten(api: Api, space: str) -> None:
    one, two = make(api, space, "one"), make(api, space, "two")
    make(api, space, "child", reference(one), reference(two))
    api.delete(CONFIGMAP, Key(space, "one"))
    found = wait_for(
        api, CONFIGMAP, Key(space, "child"), "one owner", lambda obj: len(obj["metadata"]["ownerReferences"]) == 1
    )
    assert found["metadata"]["ownerReferences"] == [reference(two)]


def test_an_owner_that_never_was_takes_its_object_along(api: Api, space: str) -> None:
    make(api, space, "child", ghost())
    wait_until_gone(api, CONFIGMAP, Key(space, "child"))


def test_an_owner_of_the_same_name_is_another_when_its_uid_is(api: Api, space: str) -> None:
    make(api, space, "owner")
    make(api, space, "child", ghost("owner"))
    wait_until_gone(api, CONFIGMAP, Key(space, "child"))
    assert find(api, CONFIGMAP, Key(space, "owner")) is not None


def test_an_object_of_another_namespace_cannot_own(api: Api, space: str, other_space: str) -> None:
    owner = make(api, other_space, "owner")
    make(api, space, "child", reference(owner))
    wait_until_gone(api, CONFIGMAP, Key(space, "child"))


def test_an_owner_without_a_namespace_can_own_in_any(api: Api, space: str) -> None:
    owner = api.create(CLUSTERROLE, "", {"metadata": {"name": f"owner-{space}"}, "rules": []})
    reference_to_role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": f"owner-{space}"}
    make(api, space, "child", {**reference_to_role, "uid": owner["metadata"]["uid"]})
    wait_for_the_collector(api, space)
    assert find(api, CONFIGMAP, Key(space, "child")) is not None
    api.delete(CLUSTERROLE, Key("", f"owner-{space}"))
    wait_until_gone(api, CONFIGMAP, Key(space, "child"))


def test_an_owner_of_a_kind_that_nobody_knows_keeps_its_object(api: Api, space: str) -> None:
    make(api, space, "child", ghost() | {"apiVersion": "nobody.example/v1", "kind": "Nothing"})
    wait_for_the_collector(api, space)
    assert find(api, CONFIGMAP, Key(space, "child")) is not None


def test_an_owner_that_is_held_keeps_what_it_owns(api: Api, space: str) -> None:
    owner = make(api, space, "owner", finalizers=[HOLD])
    make(api, space, "child", reference(owner))
    api.delete(CONFIGMAP, Key(space, "owner"), propagationPolicy="Background")
    wait_for_the_collector(api, space)
    assert find(api, CONFIGMAP, Key(space, "child")) is not None
    let_go(api, space, "owner")
    wait_until_gone(api, CONFIGMAP, Key(space, "child"))


def test_in_the_foreground_an_owner_waits_for_those_that_block_it(api: Api, space: str) -> None:
    owner = make(api, space, "owner")
    make(api, space, "child", reference(owner, blockOwnerDeletion=True), finalizers=[HOLD])
    api.delete(CONFIGMAP, Key(space, "owner"), propagationPolicy="Foreground")
    held = api.get(CONFIGMAP, Key(space, "owner"))
    assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert "deletionTimestamp" in held["metadata"]
    wait_for(api, CONFIGMAP, Key(space, "child"), "it goes", lambda obj: "deletionTimestamp" in obj["metadata"])
    assert find(api, CONFIGMAP, Key(space, "owner")) is not None
    let_go(api, space, "child")
    wait_until_gone(api, CONFIGMAP, Key(space, "owner"))


def test_in_the_foreground_an_owner_does_not_wait_for_those_that_do_not_block_it(api: Api, space: str) -> None:
    owner = make(api, space, "owner")
    make(api, space, "child", reference(owner), finalizers=[HOLD])
    api.delete(CONFIGMAP, Key(space, "owner"), propagationPolicy="Foreground")
    wait_until_gone(api, CONFIGMAP, Key(space, "owner"))
    let_go(api, space, "child")
    wait_until_gone(api, CONFIGMAP, Key(space, "child"))


def test_foreground_deletion_reaches_the_last_of_the_line_first(api: Api, space: str) -> None:
    owner = make(api, space, "owner")
    middle = make(api, space, "middle", reference(owner, blockOwnerDeletion=True))
    make(api, space, "last", reference(middle, blockOwnerDeletion=True), finalizers=[HOLD])
    api.delete(CONFIGMAP, Key(space, "owner"), propagationPolicy="Foreground")
    wait_for(api, CONFIGMAP, Key(space, "last"), "it goes", lambda obj: "deletionTimestamp" in obj["metadata"])
    middle_now = api.get(CONFIGMAP, Key(space, "middle"))
    assert middle_now["metadata"]["finalizers"] == ["foregroundDeletion"]
    let_go(api, space, "last")
    wait_until_gone(api, CONFIGMAP, Key(space, "owner"))
    assert find(api, CONFIGMAP, Key(space, "middle")) is None


def test_orphans_live_on_and_forget_their_owner(api: Api, space: str) -> None:
    owner = make(api, space, "owner")
    make(api, space, "child", reference(owner))
    api.delete(CONFIGMAP, Key(space, "owner"), propagationPolicy="Orphan")
    wait_until_gone(api, CONFIGMAP, Key(space, "owner"))
    assert "ownerReferences" not in api.get(CONFIGMAP, Key(space, "child"))["metadata"]


def test_an_object_that_is_given_a_dead_owner_later_goes(api: Api, space: str) -> None:
    dead = make(api, space, "dead")
    api.delete(CONFIGMAP, Key(space, "dead"))
    api.create(SECRET, space, {"metadata": {"name": "late"}})
    merge(api, SECRET, Key(space, "late"), {"metadata": {"ownerReferences": [reference(dead)]}})
    wait_until_gone(api, SECRET, Key(space, "late"))
