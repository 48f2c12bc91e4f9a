"""Actions are carried out on a real store of Kubernetes' objects; what was done and what failed is told."""

import random
from datetime import datetime
from typing import Any

import msgspec
import pytest

from manta_cluster_reconciler import reasons
from manta_cluster_reconciler.actions import (
    Action,
    AddFinalizer,
    Create,
    CreatePod,
    CreateToken,
    DeletePod,
    Halt,
    Patch,
    Tell,
)
from manta_cluster_reconciler.execute import Errand, Executor, Halted, Undone
from manta_cluster_reconciler.memory import Remembered
from manta_cluster_reconciler.observe import CLUSTERS, PODS, SERVICES
from manta_cluster_reconciler.policies import head
from manta_common.api.core import ObjectReference
from manta_common.api.raycluster import RayCluster
from manta_common.company import Company
from manta_common.deeds import Recheck
from manta_common.errors import Conflict
from manta_common.feed import View
from manta_common.fence import Fence
from manta_common.keys import Key
from manta_common.kinds import CRD, POD, RAYCLUSTER, ROLE, SECRET, SERVICE
from manta_common.kube.series import Notice
from manta_common.kube.settings import KubeSettings
from manta_common.plane import Item
from manta_common.ray.pods import head_pod
from manta_common.ray.rbac import role
from manta_common.ray.services import head_service
from manta_common.ray.settings import RaySettings
from manta_common.writes import Writes
from manta_embedded.sim.clock import LoopClock
from manta_embedded.store.kube import EmbeddedKube
from manta_embedded.store.schema.ray import definitions
from manta_embedded.store.store import Store
from tests.examples import manifests
from tests.unit.manta_cluster_reconciler.scenes import NOW, RULES, scene

ITEM = Item(0, Key("default", "demo"))
Json = dict[str, Any]


class Ground:
    """A plane that owns everything and whose view is empty."""

    def __init__(self) -> None:
        self.fence: Fence[Item] = Fence(lambda: 0.0)
        self.company = Company(lambda: 0.0)

    def view_of(self, item: Item) -> View | None:
        return View([CLUSTERS, PODS, SERVICES])

    def require(self, item: Item) -> None:
        """It is ours."""


class Stage:
    """A store with one cluster, and an executor that keeps what it tells."""

    def __init__(self, store: Store, kube: EmbeddedKube, cluster: RayCluster) -> None:
        self.store, self.cluster = store, cluster
        self.notices: list[Notice] = []
        self.checks: list[datetime] = []
        self.ground, self.known = Ground(), Remembered(cluster)
        self.executor = Executor(Writes(kube, self.ground, (CLUSTERS, PODS, SERVICES)), self, self)

    def record(self, regarding: ObjectReference, notice: Notice) -> None:
        assert regarding.uid == self.cluster.metadata.uid
        self.notices.append(notice)

    def now(self) -> datetime:
        return NOW

    def recheck(self, item: Item, at: datetime) -> None:
        self.checks.append(at)

    async def carry_out(self, *phases: list[Action]) -> None:
        await self.executor.carry_out(Errand(ITEM, self.cluster, self.known), phases)

    def find(self, kind: Any, name: str) -> Json | None:
        return self.store.find(kind, Key("default", name))

    @property
    def told(self) -> list[str]:
        return [notice.reason for notice in self.notices]

    def head(self) -> CreatePod:
        [action] = head.actions(scene(self.cluster), RULES, NOW) or []
        assert isinstance(action, CreatePod)
        return action


@pytest.fixture(scope="module")
def ray_definitions() -> list[Json]:
    return definitions()


@pytest.fixture
async def stage(ray_definitions: list[Json]) -> Stage:
    store = Store(LoopClock(), random.Random(1))
    for definition in ray_definitions:
        store.create(CRD, "", definition)
    store.create(RAYCLUSTER, "default", manifests.cluster())
    kube = EmbeddedKube(store, KubeSettings())
    return Stage(store, kube, await kube.get(RAYCLUSTER, ITEM.key, RayCluster))


async def test_a_pod_is_created_awaited_and_told(stage: Stage) -> None:
    await stage.carry_out([stage.head()])
    assert stage.find(POD, stage.head().body["metadata"]["name"])
    assert stage.ground.fence.is_holding(ITEM)
    assert stage.told == ["CreatedHeadPod"]


async def test_many_pods_are_one_line_of_the_log(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    body = stage.head().body
    bodies = [{**body, "metadata": {**body["metadata"], "name": f"pod-{number}"}} for number in range(12)]
    await stage.carry_out([msgspec.structs.replace(stage.head(), body=body) for body in bodies])
    [line] = [record.__dict__ for record in caplog.records if record.message == "actions were carried out"]
    assert (line["action"], line["count"]) == ("CreatePod", 12)
    assert line["objects"].startswith("pod-0, pod-1, ")
    assert line["objects"].endswith("pod-9, ...")


async def test_a_pod_that_is_there_already_counts_if_it_is_the_same(stage: Stage) -> None:
    await stage.carry_out([stage.head()])
    await stage.carry_out([stage.head()])
    assert len(list(stage.store.objects(POD, ""))) == 1


async def test_a_pod_of_somebody_else_takes_the_name(stage: Stage) -> None:
    name = stage.head().body["metadata"]["name"]
    stage.store.create(POD, "default", {"metadata": {"name": name}, "spec": {"containers": [manifests.HEAD]}})
    with pytest.raises(Conflict):
        await stage.carry_out([stage.head()])
    assert stage.known.memory().taken == {name}
    assert stage.told == []


async def test_a_pod_is_deleted_by_its_uid_and_its_slot_set_back(stage: Stage) -> None:
    made = stage.store.create(POD, "default", head_pod(stage.cluster, 0, RaySettings()))["metadata"]
    told = reasons.deleting_worker("pod x")
    delete: Json = {"name": made["name"], "told": told, "marker": "m", "because": "failed", "slot": "head"}
    await stage.carry_out([DeletePod(uid="another", **delete)])
    assert stage.find(POD, made["name"])
    assert stage.known.memory().setbacks == {}
    await stage.carry_out([DeletePod(uid=made["uid"], **delete)])
    assert stage.known.memory().setbacks["head"].count == 1
    await stage.carry_out([DeletePod(uid=made["uid"], **delete)])


async def test_a_token_is_made_and_only_its_key_remembered(stage: Stage) -> None:
    await stage.carry_out([CreateToken("demo")])
    found = stage.find(SECRET, "demo")
    assert found is not None
    assert len(found["data"]["auth_token"]) == 60
    remembered = stage.known.fetched().get(SECRET, "demo")
    assert remembered is not None
    assert remembered["data"] == {"auth_token": ""}


async def test_a_child_that_is_there_already_will_do(stage: Stage) -> None:
    action = Create(kind=ROLE, body=role(stage.cluster))
    await stage.carry_out([action], [action])
    assert stage.known.fetched().get(ROLE, "demo")


async def test_a_head_service_must_be_the_clusters_own(stage: Stage) -> None:
    body = head_service(stage.cluster, RaySettings())
    foreign = {"metadata": {"name": body["metadata"]["name"]}, "spec": {"ports": [{"port": 1}]}}
    stage.store.create(SERVICE, "default", foreign)
    told = reasons.creating("Service", "service", Key("default", "demo-head-svc"))
    with pytest.raises(Undone) as undone:
        await stage.carry_out([Create(kind=SERVICE, body=body, told=told, exclusive=True)], [stage.head()])
    assert "already exists" in undone.value.failure.message
    assert undone.value.failure.marker == ""
    assert stage.told == ["FailedToCreateService"]
    assert list(stage.store.objects(POD, "")) == [], "the next phase was begun"


async def test_a_refused_pod_is_a_failure_with_its_marker(stage: Stage) -> None:
    good = stage.head()
    metadata = {**good.body["metadata"], "labels": {"a b": "no label"}}
    broken = msgspec.structs.replace(good, body={**good.body, "metadata": metadata}, slot="small/0")
    with pytest.raises(Undone) as undone:
        await stage.carry_out([broken])
    assert undone.value.failure.marker == "FailedCreateHeadPod"
    assert stage.told == ["FailedToCreateHeadPod"]
    assert stage.known.memory().setbacks["small/0"].count == 1


async def test_a_finalizer_is_added_to_those_there_are(stage: Stage) -> None:
    await stage.carry_out([AddFinalizer("example.test/a")])
    found = stage.find(RAYCLUSTER, "demo")
    assert found is not None
    assert found["metadata"]["finalizers"] == ["example.test/a"]
    with pytest.raises(Conflict):
        await stage.carry_out([AddFinalizer("example.test/b")])


async def test_after_the_finalizer_everything_is_seen_for_the_first_time(stage: Stage) -> None:
    stage.known.begin(stage.cluster, 0)
    await stage.carry_out([AddFinalizer("example.test/a")])
    assert not stage.known.is_current(stage.cluster, 1), "what is told at the first look would never be told"


async def test_a_patch_counts_for_one_version_and_failing_makes_doubt(stage: Stage) -> None:
    stage.known.begin(stage.cluster, 0)
    stage.store.create(ROLE, "default", role(stage.cluster))
    change: Json = {"kind": ROLE, "name": "demo", "body": {"metadata": {"labels": {"a": "b"}}}}
    with pytest.raises(Conflict):
        await stage.carry_out([Patch(version="1", **change)])
    assert not stage.known.is_current(stage.cluster, 0)
    found = stage.find(ROLE, "demo")
    assert found is not None
    await stage.carry_out([Patch(version=found["metadata"]["resourceVersion"], **change)])
    remembered = stage.known.fetched().get(ROLE, "demo")
    assert remembered is not None
    assert remembered["metadata"]["labels"]["a"] == "b"


async def test_words_rechecks_and_halts_write_nothing(stage: Stage) -> None:
    notice = reasons.warning("Reason", "Validate", "words")
    await stage.carry_out([Tell(notice), Recheck(NOW)])
    assert stage.checks == [NOW]
    with pytest.raises(Undone) as undone:
        await stage.carry_out([Halt(message="no further", notice=notice)])
    assert isinstance(undone.value.error, Halted)
    assert stage.told == ["Reason", "Reason"]
