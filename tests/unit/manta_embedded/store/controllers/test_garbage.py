"""What has lost its owners is deleted, and what has not is kept."""

import pytest

from manta_common.kinds import CONFIGMAP, NODE, SECRET
from tests.unit.manta_embedded.store.controllers.small_world import SmallWorld, configmap, make, owned_by


@pytest.fixture
def world() -> SmallWorld:
    return SmallWorld()


def test_dependents_follow_their_owner_down_the_line(world: SmallWorld) -> None:
    grandparent = make(world, "grandparent")
    parent = make(world, "parent", grandparent)
    make(world, "child", parent)
    make(world, "stranger")
    world.delete(CONFIGMAP, "grandparent")
    assert world.names(CONFIGMAP) == ["stranger"]


def test_an_object_with_a_living_owner_is_kept_and_forgets_the_dead_one(world: SmallWorld) -> None:
    one, two = make(world, "one"), make(world, "two")
    make(world, "child", one, two)
    world.delete(CONFIGMAP, "one")
    assert world.get(CONFIGMAP, "child")["metadata"]["ownerReferences"] == [owned_by(two)]


def test_an_object_whose_owner_never_was_is_deleted(world: SmallWorld) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "no-such-uid"}}
    make(world, "child", ghost)
    assert world.names(CONFIGMAP) == []


def test_an_owner_of_the_same_name_with_another_uid_is_another(world: SmallWorld) -> None:
    first = make(world, "owner")
    world.delete(CONFIGMAP, "owner")
    make(world, "owner")
    make(world, "child", first)
    assert world.names(CONFIGMAP) == ["owner"]


def test_an_owner_without_a_namespace_can_own(world: SmallWorld) -> None:
    node = world.create(NODE, {"metadata": {"name": "n"}})
    make(world, "child", node)
    assert world.names(CONFIGMAP) == ["child"]
    world.delete(NODE, "n")
    assert world.names(CONFIGMAP) == []


def test_a_cluster_object_owned_by_a_namespaced_one_is_left_alone(world: SmallWorld) -> None:
    owner = make(world, "owner")
    world.create(NODE, configmap("n", owner))
    world.delete(CONFIGMAP, "owner")
    assert world.store.find(NODE, world.key(NODE, "n"))


def test_an_owner_of_an_unknown_kind_keeps_the_object(world: SmallWorld) -> None:
    unknown = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "uid": "u"}}
    make(world, "child", unknown)
    assert world.names(CONFIGMAP) == ["child"]


def test_in_the_foreground_the_owner_waits_for_those_who_block_it(world: SmallWorld) -> None:
    owner = make(world, "owner")
    make(world, "held", owner, block=True, finalizers=["example.com/hold"])
    make(world, "free", owner)
    world.delete(CONFIGMAP, "owner", propagation="Foreground")
    assert world.names(CONFIGMAP) == ["held", "owner"]
    assert world.get(CONFIGMAP, "owner")["metadata"]["finalizers"] == ["foregroundDeletion"]
    world.merge(CONFIGMAP, "held", metadata={"finalizers": []})
    assert world.names(CONFIGMAP) == []


def test_in_the_foreground_an_owner_does_not_wait_for_those_who_do_not_block(world: SmallWorld) -> None:
    owner = make(world, "owner")
    make(world, "held", owner, finalizers=["example.com/hold"])
    world.delete(CONFIGMAP, "owner", propagation="Foreground")
    assert world.names(CONFIGMAP) == ["held"]


def test_foreground_deletion_goes_down_to_the_last(world: SmallWorld) -> None:
    owner = make(world, "owner")
    middle = make(world, "middle", owner, block=True)
    make(world, "last", middle, block=True, finalizers=["example.com/hold"])
    world.delete(CONFIGMAP, "owner", propagation="Foreground")
    assert world.names(CONFIGMAP) == ["last", "middle", "owner"]
    world.merge(CONFIGMAP, "last", metadata={"finalizers": []})
    assert world.names(CONFIGMAP) == []


def test_owners_of_each_other_do_not_wait_for_ever(world: SmallWorld) -> None:
    one = make(world, "one")
    two = make(world, "two", one, block=True)
    world.merge(CONFIGMAP, "one", metadata={"ownerReferences": [owned_by(two, block=True)]})
    world.delete(CONFIGMAP, "one", propagation="Foreground")
    assert world.names(CONFIGMAP) == []


def test_orphans_live_on_without_their_owner(world: SmallWorld) -> None:
    owner = make(world, "owner")
    make(world, "child", owner)
    world.delete(CONFIGMAP, "owner", propagation="Orphan")
    assert world.names(CONFIGMAP) == ["child"]
    assert "ownerReferences" not in world.get(CONFIGMAP, "child")["metadata"]


def test_an_object_that_is_given_a_dead_owner_later_is_deleted(world: SmallWorld) -> None:
    dead = make(world, "dead")
    world.delete(CONFIGMAP, "dead")
    world.create(SECRET, {"metadata": {"name": "late"}})
    world.merge(SECRET, "late", metadata={"ownerReferences": [owned_by(dead)]})
    assert world.names(SECRET) == []
