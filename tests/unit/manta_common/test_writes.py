"""What the hands of a service make of a deletion that is refused, and of the end of what waited for them."""

import random

import pytest

from manta_common.api.core import Service
from manta_common.api.meta import ObjectMeta
from manta_common.company import Company
from manta_common.errors import Conflict
from manta_common.feed import Source, View
from manta_common.fence import Fence, Seen
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, SERVICE
from manta_common.kube.protocol import MergePatch
from manta_common.kube.settings import KubeSettings
from manta_common.plane import Item
from manta_common.store import Held
from manta_common.writes import Writes
from manta_embedded.sim.clock import LoopClock
from manta_embedded.store.admission import Review
from manta_embedded.store.errors import StatusError
from manta_embedded.store.kube import EmbeddedKube
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store

SERVICES = Source("service", Service)
PLACE = Key("default", "one")
ITEM = Item(0, PLACE)
BODY: Obj = {"metadata": {"name": "one"}, "spec": {"ports": [{"port": 80}]}}


class Ground:
    """A plane that owns everything."""

    def __init__(self) -> None:
        self.fence: Fence[Item] = Fence(lambda: 0.0)
        self.company = Company(lambda: 0.0)
        self.view = View([SERVICES])

    def view_of(self, item: Item) -> View | None:
        return self.view

    def require(self, item: Item) -> None:
        """It is ours."""


class Reluctant:
    """A webhook that refuses deletions with 409, as some do while they need an object."""

    def admit(self, review: Review) -> Obj | None:
        if review.operation == "DELETE":
            raise StatusError(409, "Conflict", "it is still needed")
        return review.new


class Stage:
    """One Service, which the view shows."""

    def __init__(self) -> None:
        self.store, self.ground = Store(LoopClock(), random.Random(1)), Ground()
        self.writes = Writes(EmbeddedKube(self.store, KubeSettings()), self.ground, [SERVICES])
        meta = self.show()
        self.uid, self.version = meta["uid"], meta["resourceVersion"]

    def show(self) -> Obj:
        """Make a Service, and have the view show it."""
        meta: Obj = self.store.create(SERVICE, "default", BODY)["metadata"]
        self.show_again()
        return meta

    def show_again(self) -> int:
        """Have the view show the Service as it is now; its version."""
        meta = self.store.get(SERVICE, PLACE)["metadata"]
        seen = Service(metadata=ObjectMeta(name="one", namespace="default", uid=meta["uid"]))
        version = int(meta["resourceVersion"])
        self.ground.view.writer("service").put(Held(PLACE, meta["uid"], version, seen))
        return version

    async def delete(self, version: str = "") -> bool:
        return await self.writes.delete(ITEM, SERVICE, PLACE, uid=self.uid, version=version)

    @property
    def left(self) -> bool:
        return self.store.find(SERVICE, PLACE) is not None


@pytest.fixture
async def stage() -> Stage:
    return Stage()


async def test_what_is_there_is_deleted_and_awaited(stage: Stage) -> None:
    assert await stage.delete(stage.version)
    assert not stage.left
    assert stage.ground.fence.is_holding(ITEM)


async def test_what_is_gone_was_not_there(stage: Stage) -> None:
    stage.store.delete(SERVICE, PLACE)
    assert not await stage.delete()
    assert not stage.ground.fence.is_holding(ITEM)


async def test_what_has_changed_since_its_version_is_not_deleted(stage: Stage) -> None:
    stage.store.patch(SERVICE, PLACE, MergePatch({"metadata": {"labels": {"a": "b"}}}))
    with pytest.raises(Conflict):
        await stage.delete(stage.version)
    assert stage.left
    assert await stage.delete()


async def test_another_one_of_the_name_that_the_view_shows_is_left_alone(stage: Stage) -> None:
    stage.store.delete(SERVICE, PLACE)
    stage.show()
    assert not await stage.delete()
    assert stage.left


async def test_another_one_of_the_name_that_the_view_does_not_show_yet_is_waited_for(stage: Stage) -> None:
    stage.store.delete(SERVICE, PLACE)
    stage.store.create(SERVICE, "default", BODY)
    with pytest.raises(Conflict):
        await stage.delete()
    assert stage.left


async def test_what_a_webhook_keeps_is_not_taken_for_gone(stage: Stage) -> None:
    stage.store.admissions.append(Reluctant())
    with pytest.raises(Conflict):
        await stage.delete()
    assert stage.left
    stage.store.admissions.clear()
    assert await stage.delete()


async def test_of_what_no_feed_shows_another_one_of_the_name_is_left_alone(stage: Stage) -> None:
    made = stage.store.create(CONFIGMAP, "default", {"metadata": {"name": "one"}})["metadata"]
    stage.store.delete(CONFIGMAP, PLACE)
    stage.store.create(CONFIGMAP, "default", {"metadata": {"name": "one"}})
    assert not await stage.writes.delete(ITEM, CONFIGMAP, PLACE, uid=made["uid"])
    assert stage.store.find(CONFIGMAP, PLACE) is not None


HOLD = {"metadata": {"finalizers": ["writes.manta.example/hold"]}}


async def test_the_end_of_what_waited_for_its_last_finalizer_is_awaited(stage: Stage) -> None:
    """The answer bears the version that the view shows already: by that alone nothing would be awaited."""
    stage.store.patch(SERVICE, PLACE, MergePatch(HOLD))
    stage.store.delete(SERVICE, PLACE)
    shown = stage.show_again()
    await release(stage)
    assert not stage.left
    assert stage.ground.fence.is_holding(ITEM)
    gone = Seen(kind="service", key=PLACE, uid=stage.uid, version=shown + 1, gone=True)
    assert stage.ground.fence.saw(gone) == {ITEM}


async def test_an_end_that_the_view_shows_already_is_not_awaited(stage: Stage) -> None:
    stage.store.patch(SERVICE, PLACE, MergePatch(HOLD))
    stage.store.delete(SERVICE, PLACE)
    stage.ground.view.writer("service").remove(PLACE)
    await release(stage)
    assert not stage.ground.fence.is_holding(ITEM)


async def release(stage: Stage) -> None:
    patch = MergePatch({"metadata": {"finalizers": None}})
    await stage.writes.patch(ITEM, SERVICE, PLACE, patch=patch, into=Service)
