"""A namespace goes with all that is in it, and not before."""

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, JOB, NAMESPACE, POD, SECRET
from manta_embedded.store.errors import StatusError
from tests.unit.manta_embedded.store.controllers.small_world import SPACE, SmallWorld, job, make


@pytest.fixture
def world() -> SmallWorld:
    return SmallWorld()


def conditions(world: SmallWorld) -> dict[str, tuple[str, str, str]]:
    found = world.get(NAMESPACE, SPACE)["status"]["conditions"]
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in found}


def test_a_namespace_takes_everything_in_it_along(world: SmallWorld) -> None:
    make(world, "one")
    world.create(SECRET, {"metadata": {"name": "two"}})
    world.create(JOB, job())
    world.delete(NAMESPACE, SPACE)
    assert world.store.find(NAMESPACE, Key("", SPACE)) is None
    assert [world.names(kind) for kind in (CONFIGMAP, SECRET, JOB, POD)] == [[], [], [], []]


def test_a_held_object_holds_its_namespace_which_says_by_what(world: SmallWorld) -> None:
    make(world, "held", finalizers=["example.com/hold"])
    world.delete(NAMESPACE, SPACE)
    assert world.get(NAMESPACE, SPACE)["status"]["phase"] == "Terminating"
    found = conditions(world)
    assert found["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 1 resource instances",
    )
    assert found["NamespaceFinalizersRemaining"] == (
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
    )
    assert found["NamespaceDeletionContentFailure"][0] == "False"
    world.merge(CONFIGMAP, "held", metadata={"finalizers": []})
    assert world.store.find(NAMESPACE, Key("", SPACE)) is None


def test_the_rest_waits_until_the_pods_are_gone(world: SmallWorld) -> None:
    make(world, "config")
    world.create(POD, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "a"}]}})
    world.run_pod("p")
    world.delete(NAMESPACE, SPACE)
    assert world.names(CONFIGMAP) == ["config"]
    world.delete(POD, "p", grace_seconds=0)
    assert world.store.find(NAMESPACE, Key("", SPACE)) is None


def test_nothing_is_created_in_a_namespace_that_goes(world: SmallWorld) -> None:
    make(world, "held", finalizers=["example.com/hold"])
    world.delete(NAMESPACE, SPACE)
    with pytest.raises(StatusError, match=f"unable to create new content in namespace {SPACE} because it is being"):
        make(world, "late")


def test_a_finalizer_of_the_namespace_itself_holds_it_when_it_is_empty(world: SmallWorld) -> None:
    world.merge(NAMESPACE, SPACE, metadata={"finalizers": ["example.com/hold"]})
    world.delete(NAMESPACE, SPACE)
    assert world.get(NAMESPACE, SPACE)["spec"].get("finalizers", []) == []
    world.merge(NAMESPACE, SPACE, metadata={"finalizers": []})
    assert world.store.find(NAMESPACE, Key("", SPACE)) is None
