"""Definitions take their objects along."""

import pytest

from manta_common.kinds import CRD, Kind
from tests.unit.manta_embedded.store.controllers.small_world import SmallWorld

GADGET = Kind("gadget", "Gadget", "gadgets", "example.com")


@pytest.fixture
def world() -> SmallWorld:
    found = SmallWorld()
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"kind": "Gadget", "plural": "gadgets"}
    spec = {"group": GADGET.group, "scope": "Namespaced", "names": names, "versions": [version]}
    found.create(CRD, {"metadata": {"name": "gadgets.example.com"}, "spec": spec})
    return found


def make(world: SmallWorld, *finalizers: str) -> None:
    body = {"apiVersion": GADGET.api_version, "kind": "Gadget", "metadata": {"name": "g", "finalizers": [*finalizers]}}
    world.create(GADGET, body)


def test_the_last_object_goes_before_its_definition(world: SmallWorld) -> None:
    make(world, "example.com/hold")
    world.delete(CRD, "gadgets.example.com")
    conditions = {one["type"]: one["reason"] for one in world.get(CRD, "gadgets.example.com")["status"]["conditions"]}
    assert conditions["Terminating"] == "InstanceDeletionInProgress"
    world.merge(GADGET, "g", metadata={"finalizers": []})
    assert world.store.find(CRD, world.key(CRD, "gadgets.example.com")) is None
    assert len(world.store.bucket((GADGET.group, GADGET.plural))) == 0


def test_a_definition_without_objects_goes_at_once(world: SmallWorld) -> None:
    world.delete(CRD, "gadgets.example.com")
    assert world.store.find(CRD, world.key(CRD, "gadgets.example.com")) is None


def test_objects_of_all_namespaces_go(world: SmallWorld) -> None:
    make(world)
    assert world.names(GADGET) == ["g"]
    world.store.create(GADGET, "default", {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "h"}})
    world.delete(CRD, "gadgets.example.com")
    assert [key for key, _ in world.store.bucket((GADGET.group, GADGET.plural)).all()] == []
