"""The end of a cluster whose state is in Redis, step by step."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from manta_common.api.core import Job, JobStatus, StatusCondition
from manta_common.api.meta import ObjectMeta, OwnerReference
from manta_common.api.raycluster import RayCluster
from manta_common.deeds import Recheck
from manta_janitor.actions import CleanRedis, ClusterAction, CreateCleanup, DeletePod, RemoveFinalizer
from manta_janitor.observed import Fading, JanitorSettings, Node, NodeMeta
from manta_janitor.policies.fading import decide, patience_seconds

GONE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOW = GONE + timedelta(seconds=10)
DEADLINE = GONE + timedelta(seconds=300)
FINALIZER = "ray.io/gcs-ft-redis-cleanup-finalizer"
REDIS: dict[str, Any] = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}


def cluster(*, marks: dict[str, str] | None = None, meta: dict[str, Any] | None = None, **spec: Any) -> RayCluster:
    about = {
        "name": "c",
        "namespace": "ns",
        "uid": "u",
        "finalizers": [FINALIZER],
        "deletionTimestamp": GONE,
        "annotations": marks or {},
        **(meta or {}),
    }
    body = {"metadata": about, "spec": {"headGroupSpec": {"template": {}}, **spec}}
    return msgspec.json.decode(msgspec.json.encode(body), type=RayCluster)


def node(name: str, *, going: bool = False) -> Node:
    return Node(metadata=NodeMeta(name=name, uid=f"{name}-uid", deletion_timestamp=GONE if going else None))


def cleanup(condition: str = "", *, owner: str = "u") -> Job:
    said = (StatusCondition(type=condition, status="True"),) if condition else ()
    reference = OwnerReference(api_version="ray.io/v1", kind="RayCluster", name="c", uid=owner, controller=True)
    return Job(metadata=ObjectMeta(owner_references=(reference,)), status=JobStatus(conditions=said))


def acts(fading: Fading, settings: JanitorSettings | None = None, now: datetime = NOW) -> list[ClusterAction]:
    return [action for phase in decide(fading, settings or JanitorSettings(), now) for action in phase]


@pytest.mark.parametrize(
    ("fading", "expected"),
    [
        pytest.param(Fading(cluster=cluster(meta={"deletionTimestamp": None}, **REDIS)), [], id="it is not deleted"),
        pytest.param(Fading(cluster=cluster(meta={"finalizers": []}, **REDIS)), [], id="it does not wait for us"),
        pytest.param(Fading(cluster=cluster(managedBy="x", **REDIS)), [], id="it is somebody else's"),
        pytest.param(
            Fading(cluster=cluster(**REDIS), heads=(node("h"),), workers=(node("w"),)),
            [DeletePod, DeletePod],
            id="pods first",
        ),
        pytest.param(
            Fading(cluster=cluster(**REDIS), heads=(node("h", going=True),), workers=()), [], id="a head that goes"
        ),
        pytest.param(
            Fading(cluster=cluster(**REDIS), workers=(node("w", going=True),)),
            [Recheck, CreateCleanup],
            id="workers that go are not waited for",
        ),
        pytest.param(Fading(cluster=cluster(**REDIS)), [Recheck, CreateCleanup], id="no pod is left"),
        pytest.param(Fading(cluster=cluster(**REDIS), cleanup=cleanup()), [Recheck], id="the clean-up runs"),
        pytest.param(
            Fading(cluster=cluster(**REDIS), cleanup=cleanup("Complete")),
            [Recheck, RemoveFinalizer],
            id="it has succeeded",
        ),
        pytest.param(
            Fading(cluster=cluster(**REDIS), cleanup=cleanup("Failed")), [Recheck, RemoveFinalizer], id="it has failed"
        ),
        pytest.param(
            Fading(cluster=cluster(**REDIS), cleanup=cleanup("FailureTarget")),
            [Recheck, RemoveFinalizer],
            id="it is failing",
        ),
        pytest.param(
            Fading(cluster=cluster(**REDIS), cleanup=cleanup("Complete", owner="old")),
            [Recheck],
            id="the clean-up of a cluster that bore the name before does not count",
        ),
        pytest.param(
            Fading(cluster=cluster(**REDIS), workers=(node("w"),)),
            [Recheck, DeletePod, CreateCleanup],
            id="a worker that is left goes before the clean-up",
        ),
        pytest.param(
            Fading(cluster=cluster(marks={"ray.io/gcs-ft-redis-cleanup": "False"}, **REDIS)),
            [RemoveFinalizer],
            id="it keeps its keys",
        ),
        pytest.param(
            Fading(cluster=cluster(gcsFaultToleranceOptions={"backend": "rocksdb"})),
            [RemoveFinalizer],
            id="its state is not in Redis any more",
        ),
        pytest.param(Fading(cluster=cluster()), [RemoveFinalizer], id="it keeps no state any more"),
    ],
)
def test_steps(fading: Fading, expected: list[type]) -> None:
    assert [type(action) for action in acts(fading)] == expected


def test_pods_go_by_their_uid() -> None:
    (gone,) = acts(Fading(cluster=cluster(**REDIS), heads=(node("h"),)))
    assert gone == DeletePod("h", "h-uid", "the cluster is deleted")


def test_a_clean_up_that_takes_too_long_is_given_up() -> None:
    assert acts(Fading(cluster=cluster(**REDIS), cleanup=cleanup()), now=DEADLINE) == [
        RemoveFinalizer("the clean-up took too long", forced=True)
    ]


def test_the_deadline_is_looked_at_in_time() -> None:
    assert acts(Fading(cluster=cluster(**REDIS), cleanup=cleanup())) == [Recheck(DEADLINE)]


def test_a_head_that_will_not_go_holds_the_deadline_up() -> None:
    assert acts(Fading(cluster=cluster(**REDIS), heads=(node("h", going=True),)), now=DEADLINE) == []


def test_pods_that_cannot_be_deleted_do_not_hold_the_deadline_up() -> None:
    found = acts(Fading(cluster=cluster(**REDIS), workers=(node("w"),)), now=DEADLINE)
    assert [type(action) for action in found] == [RemoveFinalizer]


def test_the_janitor_may_clean_up_itself() -> None:
    found = decide(Fading(cluster=cluster(**REDIS)), JanitorSettings(cleans_redis="janitor"), NOW)
    assert found == [[Recheck(DEADLINE)], [CleanRedis()], [RemoveFinalizer("the clean-up has finished")]]


def test_without_the_switch_the_cluster_just_goes() -> None:
    found = acts(Fading(cluster=cluster(**REDIS)), JanitorSettings(cleans_redis="none"))
    assert [type(action) for action in found] == [RemoveFinalizer]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("", 300), ("x", 300), ("0", 300), ("-5", 300), ("7", 7), ("+7", 7), (str(2**62), 2**31 - 1)],
)
def test_patience(text: str, seconds: int) -> None:
    assert patience_seconds({"ray.io/gcs-ft-deletion-timeout": text}, 300) == seconds
