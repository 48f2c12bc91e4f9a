"""What users do in the campaign on real parts: some of the plays of the one on the simulator."""

from collections.abc import Callable
from typing import Any

from manta_common.kinds import POD, RAYCLUSTER, RAYJOB
from manta_embedded.store.objects import Obj
from tests.chaos.campaign_world import Stage
from tests.examples import manifests

REDIS = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
HEADLESS: dict[str, Any] = {**manifests.CLUSTER, "workerGroupSpecs": []}
MARK = "stage"  # in the metadata of a Ray job: the namespace it comes from
Play = Callable[[Stage], None]


def _make(stage: Stage, patch: dict[str, Any] | None = None, *, replicas: int = 2) -> None:
    workers = manifests.worker(replicas=replicas, maxReplicas=20)
    stage.create(RAYCLUSTER, manifests.cluster(workers | (patch or {}), name="a"))
    _settle(stage)


def _resize(stage: Stage, replicas: int) -> None:
    stage.change(RAYCLUSTER, "a", **manifests.worker(replicas=replicas, maxReplicas=20))
    _settle(stage)


def _settle(stage: Stage) -> None:
    stage.until("its cluster is settled", lambda: _is_settled(stage))


def _is_settled(stage: Stage) -> bool:
    """Whether the cluster has exactly the pods it should have, all of them run, and its status says so."""
    cluster = stage.find(RAYCLUSTER, "a")
    assert cluster is not None
    pods, status = stage.objects(POD), cluster.get("status", {})
    if cluster["spec"].get("suspend"):
        return not pods and status.get("state") == "suspended"
    [group] = cluster["spec"]["workerGroupSpecs"]
    wanted: int = group["replicas"]
    is_whole = len(pods) == wanted + 1 and all(_runs(pod) for pod in pods)
    return bool(is_whole and status.get("state") == "ready" and status.get("readyWorkerReplicas", 0) == wanted)


def _runs(pod: Obj) -> bool:
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def scale(stage: Stage) -> None:
    """A cluster grows and shrinks."""
    _make(stage)
    for count in (5, 1):
        _resize(stage, count)


def suspend(stage: Stage) -> None:
    """A cluster is suspended and resumed."""
    _make(stage)
    for wish in (True, False):
        stage.change(RAYCLUSTER, "a", suspend=wish)
        _settle(stage)


def recreate(stage: Stage) -> None:
    """The pods of a cluster are made anew for another image."""
    _make(stage, {"upgradeStrategy": {"type": "Recreate"}})
    stage.change(RAYCLUSTER, "a", **manifests.head_container(image="ray:new"))
    stage.until("the head is new", lambda: "ray:new" in map(_image, stage.objects(POD)))
    _settle(stage)


def _image(pod: Obj) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image


def redis(stage: Stage) -> None:
    """A cluster with its state in Redis is deleted."""
    _make(stage, REDIS, replicas=1)
    stage.delete(RAYCLUSTER, "a")
    stage.until("it is gone", lambda: stage.find(RAYCLUSTER, "a") is None and not stage.objects(POD))


def _job(stage: Stage, name: str, **spec: Any) -> None:
    body = {"submissionMode": "HTTPMode", "rayClusterSpec": HEADLESS, "metadata": {MARK: stage.namespace}, **spec}
    about = {"apiVersion": RAYJOB.api_version, "kind": RAYJOB.kind, "metadata": {"name": name}}
    stage.create(RAYJOB, about | {"spec": body})


def _reach(stage: Stage, name: str, state: str) -> None:
    def said() -> Any:
        return (stage.find(RAYJOB, name) or {}).get("status", {}).get("jobDeploymentStatus")

    stage.until(f"{name} is {state}", lambda: said() == state)


def over_http(stage: Stage) -> None:
    """A job over HTTP fails, is tried again and fails again."""
    _job(stage, "a", entrypoint="sleep 1; exit 1", backoffLimit=1)
    _reach(stage, "a", "Failed")


def _rule(policy: str, seconds: int) -> dict[str, Any]:
    return {"policy": policy, "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": seconds}}


def rules(stage: Stage) -> None:
    """After a job its workers go, then its cluster; another takes itself along."""
    steps = [_rule("DeleteWorkers", 1), _rule("DeleteCluster", 4)]
    long = {"entrypoint": "sleep 2", "rayClusterSpec": manifests.CLUSTER}
    _job(stage, "a", **long, deletionStrategy={"deletionRules": steps})
    _job(stage, "b", entrypoint="sleep 1", deletionStrategy={"deletionRules": [_rule("DeleteSelf", 1)]})
    _reach(stage, "a", "Complete")
    stage.until("b is gone", lambda: stage.find(RAYJOB, "b") is None)
    stage.until("no cluster is left", lambda: not stage.objects(RAYCLUSTER) and not stage.objects(POD))


PLAYS: dict[str, Play] = {
    "scale": scale,
    "suspend": suspend,
    "recreate": recreate,
    "redis": redis,
    "job-over-http": over_http,
    "rules": rules,
}
