"""What users do in a campaign: the scenarios, each from nothing to a world that has settled."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from manta_common.kinds import POD, RAYCLUSTER, RAYCRONJOB, RAYJOB
from manta_embedded.sim.nodes import PodScript
from manta_embedded.sim.world import World
from tests.examples import manifests
from tests.model import clusters, endings, jobs, services
from tests.model.test_incremental import Roads
from tests.model.test_job_schedules import Process as Schedules

LIMIT_SECONDS = 1800.0
REDIS = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
LONGER = "sleep 20"  # until all that belongs to a job has come
LONGEST = "sleep 60"  # and until everybody has seen its head ready, which it is not after the end of a submitter in it
HEADLESS: dict[str, Any] = {**manifests.CLUSTER, "workerGroupSpecs": []}

Act = Callable[[], Coroutine[Any, Any, None]]
Check = Callable[[], None]


class Cast(msgspec.Struct, frozen=True, kw_only=True):
    """What happens, and what must be true of it in the end besides how the world looks."""

    act: Act
    check: Check = lambda: None
    exact: bool = True  # whether as many objects come and go as without faults


Play = Callable[[World, int], Cast]  # a world and how many replicas of each reconciler it shall have


def _set(world: World, replicas: int) -> None:
    clusters.begin(world, replicas=replicas)
    _janitors(world, replicas)


def _janitors(world: World, replicas: int) -> None:
    world.nodes.script(PodScript(run_seconds=2), labels={"ray.io/node-type": "redis-cleanup"})
    for number in range(1, replicas + 1):
        world.start(f"janitor-{number}", endings.Process)


async def _settled(world: World, name: str = "a") -> None:
    await world.until(
        f"{name} is settled", functools.partial(clusters.is_settled, world, name), limit_seconds=LIMIT_SECONDS
    )


def scale(world: World, replicas: int) -> Cast:
    """A cluster grows and shrinks."""
    _set(world, replicas)

    async def act() -> None:
        clusters.make(world, "a", replicas=2)
        await _settled(world)
        for count in (5, 1):
            clusters.resize(world, "a", replicas=count)
            await _settled(world)

    return Cast(act=act)


def suspend(world: World, replicas: int) -> Cast:
    """A cluster is suspended and resumed."""
    _set(world, replicas)

    async def act() -> None:
        clusters.make(world, "a", replicas=2)
        await _settled(world)
        for wish in (True, False):
            clusters.change(world, "a", suspend=wish)
            await _settled(world)

    return Cast(act=act)


def recreate(world: World, replicas: int) -> Cast:
    """The pods of a cluster are made anew for another image."""
    _set(world, replicas)

    def images() -> set[str]:
        return {pod["spec"]["containers"][0]["image"] for pod in clusters.pods(world, "a")}

    async def act() -> None:
        patch = manifests.worker(replicas=2) | {"upgradeStrategy": {"type": "Recreate"}}
        world.create(RAYCLUSTER, manifests.cluster(patch, name="a"))
        await _settled(world)
        clusters.change(world, "a", **manifests.head_container(image="ray:new"))
        await world.until("the head is new", lambda: "ray:new" in images(), limit_seconds=LIMIT_SECONDS)
        await _settled(world)

    return Cast(act=act)


def multi_host(world: World, replicas: int) -> Cast:
    """A group of slices loses a pod, and later a whole slice."""
    _set(world, replicas)

    async def act() -> None:
        clusters.make(world, "a", replicas=2, numOfHosts=2)
        await _settled(world)
        worker = next(pod for pod in clusters.pods(world, "a") if "replica" in str(pod["metadata"]["labels"]))
        world.nodes.evict(worker["metadata"]["name"])
        await world.until(
            "it is replaced", lambda: world.find(POD, worker["metadata"]["name"]) is None, limit_seconds=LIMIT_SECONDS
        )
        await _settled(world)
        clusters.resize(world, "a", replicas=1, numOfHosts=2)
        await _settled(world)

    return Cast(act=act, exact=False)  # a slice of which a pod could not be made goes as a whole


def redis(world: World, replicas: int) -> Cast:
    """A cluster with its state in Redis is deleted."""
    _set(world, replicas)

    async def act() -> None:
        patch = manifests.worker(replicas=1) | REDIS
        world.create(RAYCLUSTER, manifests.cluster(patch, name="a"))
        await _settled(world)
        world.delete(RAYCLUSTER, "a")
        await world.until("it is gone", lambda: world.find(RAYCLUSTER, "a") is None, limit_seconds=LIMIT_SECONDS)

    return Cast(act=act)


def _job(world: World, replicas: int, state: str, attempts: int, **spec: Any) -> Cast:
    scene = jobs.Scene(world, replicas=replicas)
    _janitors(world, replicas)

    async def act() -> None:
        scene.make(**spec)
        await scene.reach(state, limit_seconds=LIMIT_SECONDS)

    def check() -> None:
        scene.check_order()
        assert sum(scene.submitted.values()) == attempts, scene.submitted

    return Cast(act=act, check=check)


def over_http(world: World, replicas: int) -> Cast:
    """A job over HTTP fails, is tried again and fails again."""
    return _job(world, replicas, "Failed", 2, mode="HTTPMode", entrypoint=jobs.FAILS, backoffLimit=1)


def by_submitter(world: World, replicas: int) -> Cast:
    """A job with a submitter fails, is tried again and fails again."""
    return _job(world, replicas, "Failed", 2, mode="K8sJobMode", entrypoint=jobs.FAILS, backoffLimit=1)


def beside_head(world: World, replicas: int) -> Cast:
    """A job submitted beside its head fails, is tried again and fails again; another succeeds."""
    scene = jobs.Scene(world, replicas=replicas)
    _janitors(world, replicas)

    async def act() -> None:
        scene.make("a", mode="SidecarMode", entrypoint=f"{LONGEST}; exit 1", backoffLimit=1)
        scene.make("b", mode="SidecarMode", entrypoint=LONGEST)
        await scene.reach("Failed", "a", limit_seconds=LIMIT_SECONDS)
        await scene.reach("Complete", "b", limit_seconds=LIMIT_SECONDS)

    def check() -> None:
        scene.check_order()
        assert sum(scene.submitted.values()) == 3, scene.submitted

    return Cast(act=act, check=check)


def interactive(world: World, replicas: int) -> Cast:
    """A person submits."""
    scene = jobs.Scene(world, replicas=replicas)
    _janitors(world, replicas)

    async def act() -> None:
        scene.make(mode="InteractiveMode", entrypoint="")
        await scene.reach("Waiting", limit_seconds=LIMIT_SECONDS)
        url = f"http://{scene.status()['dashboardURL']}/api/jobs/"
        await scene.ask("POST", url, f'{{"submission_id": "mine", "entrypoint": "{LONGER}"}}'.encode(), 10)
        scene.change(jobId="mine")
        await scene.reach("Complete", limit_seconds=LIMIT_SECONDS)

    return Cast(act=act, check=scene.check_order)


def pause(world: World, replicas: int) -> Cast:
    """A running job is suspended, resumed, and deleted while it runs."""
    scene = jobs.Scene(world, replicas=replicas)
    _janitors(world, replicas)

    async def running() -> None:
        await world.until("it runs", lambda: scene.status().get("jobStatus") == "RUNNING", limit_seconds=LIMIT_SECONDS)
        await world.sleep(20)  # all that belongs to it has come

    async def act() -> None:
        scene.make(mode="HTTPMode", entrypoint=jobs.LASTS, shutdownAfterJobFinishes=True)
        await running()
        scene.change(suspend=True)
        await scene.reach("Suspended", limit_seconds=LIMIT_SECONDS)
        scene.change(suspend=False)
        await running()
        world.delete(RAYJOB, "a")
        await world.until("it is gone", lambda: world.find(RAYJOB, "a") is None, limit_seconds=LIMIT_SECONDS)

    return Cast(act=act, check=scene.check_order)


def _rule(policy: str, seconds: int) -> dict[str, Any]:
    return {"policy": policy, "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": seconds}}


def rules(world: World, replicas: int) -> Cast:
    """After a job its workers go, then its cluster; another takes itself along."""
    scene = jobs.Scene(world, replicas=replicas)
    _janitors(world, replicas)

    async def act() -> None:
        steps = [_rule("DeleteWorkers", 5), _rule("DeleteCluster", 30)]
        scene.make("a", rayClusterSpec=manifests.CLUSTER, entrypoint=LONGER, deletionStrategy={"deletionRules": steps})
        scene.make("b", entrypoint=LONGER, deletionStrategy={"deletionRules": [_rule("DeleteSelf", 10)]})
        await scene.reach("Complete", "a", limit_seconds=LIMIT_SECONDS)
        await world.until("b is gone", lambda: world.find(RAYJOB, "b") is None, limit_seconds=LIMIT_SECONDS)
        await world.until("no cluster is left", lambda: not world.objects(RAYCLUSTER), limit_seconds=LIMIT_SECONDS)

    return Cast(act=act, check=scene.check_order)


def same_name(world: World, replicas: int) -> Cast:
    """A job takes itself along; another of the same name is made about when it goes."""
    scene = jobs.Scene(world, replicas=replicas)
    _janitors(world, replicas)

    async def act() -> None:
        scene.make(entrypoint=LONGER, deletionStrategy={"deletionRules": [_rule("DeleteSelf", 10)]})
        await scene.reach("Complete", limit_seconds=LIMIT_SECONDS)
        await world.sleep(13)
        if world.find(RAYJOB, "a"):
            world.delete(RAYJOB, "a")
        await world.until("it is gone", lambda: world.find(RAYJOB, "a") is None, limit_seconds=LIMIT_SECONDS)
        scene.make(entrypoint=LONGER)
        await scene.reach("Complete", limit_seconds=LIMIT_SECONDS)

    return Cast(act=act, check=scene.check_order)


def cron(world: World, replicas: int) -> Cast:
    """A schedule makes two jobs and is suspended."""
    scene = jobs.Scene(world, replicas=replicas)
    _janitors(world, replicas)
    for number in range(1, replicas + 1):
        world.start(f"schedules-{number}", Schedules)

    async def act() -> None:
        template = {"entrypoint": jobs.SUCCEEDS, "submissionMode": "HTTPMode", "rayClusterSpec": HEADLESS}
        spec = {"schedule": "* * * * *", "jobTemplate": template}
        world.create(RAYCRONJOB, manifests.cron_job(spec, name="often"))
        await world.sleep(3 * 60 - 10)
        world.patch(RAYCRONJOB, "often", {"spec": {"suspend": True}})
        await world.sleep(70)

    return Cast(act=act, check=scene.check_order)


async def _upgraded(scene: services.Scene) -> None:
    first = scene.active()
    scene.upgrade("2.57.0")
    await scene.world.until(
        "another serves", lambda: scene.is_ready() and scene.active() != first, limit_seconds=LIMIT_SECONDS
    )
    await scene.world.until(
        "the old one is gone", lambda: scene.clusters() == {scene.active()}, limit_seconds=LIMIT_SECONDS
    )


def new_cluster(world: World, replicas: int) -> Cast:
    """A RayService moves to a new cluster."""
    scene = services.Scene(world, replicas=replicas)

    async def act() -> None:
        scene.make(rayClusterDeletionDelaySeconds=5)
        await scene.reach_ready(limit_seconds=LIMIT_SECONDS)
        await _upgraded(scene)

    return Cast(act=act)


def in_place(world: World, replicas: int) -> Cast:
    """A RayService that never moves is given another configuration."""
    scene = services.Scene(world, replicas=replicas)

    async def act() -> None:
        scene.make(upgradeStrategy={"type": "None"})
        await scene.reach_ready(limit_seconds=LIMIT_SECONDS)
        before = scene.active()
        scene.upgrade("2.57.0")
        scene.change(serveConfigV2=services.TWO)
        await world.until("serve is told", lambda: scene.told(before) == {"one", "two"}, limit_seconds=LIMIT_SECONDS)
        await scene.reach_ready(limit_seconds=LIMIT_SECONDS)

    return Cast(act=act)


def incremental(world: World, replicas: int) -> Cast:
    """A RayService moves step by step."""
    scene = Roads(world, replicas=replicas)

    async def act() -> None:
        scene.begin(interval=2)
        await scene.reach_route(limit_seconds=LIMIT_SECONDS)
        await _upgraded(scene)
        await scene.reach_route(limit_seconds=LIMIT_SECONDS)

    return Cast(act=act)


PLAYS: dict[str, Play] = {
    "scale": scale,
    "suspend": suspend,
    "recreate": recreate,
    "multi-host": multi_host,
    "redis": redis,
    "job-over-http": over_http,
    "job-by-submitter": by_submitter,
    "job-beside-head": beside_head,
    "job-interactive": interactive,
    "job-suspended": pause,
    "rules": rules,
    "same-name": same_name,
    "cron": cron,
    "service-new-cluster": new_cluster,
    "service-in-place": in_place,
    "service-incremental": incremental,
}
