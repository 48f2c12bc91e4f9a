"""What must be true of a RayCluster at rest: its counts, its state and its conditions are those of its pods."""

from collections import Counter

from manta_common.kinds import POD
from manta_embedded.store.objects import Obj
from tests.model.fuzz.facts import (
    Lie,
    condition,
    holds,
    is_leaving,
    is_refused,
    labels,
    place,
    told,
    wanted_workers,
    warnings,
)
from tests.model.fuzz.stage import Stage

GROUPS, SLICE = "workerGroupSpecs", "ray.io/worker-group-replica-name"


def lies(stage: Stage, cluster: Obj) -> list[str]:
    """What its status says and what is not so."""
    if is_refused(cluster) or is_leaving(cluster):
        return []
    pods = _pods(stage, cluster)
    heads, workers = _of(pods, "head"), _of(pods, "worker")
    if _strangers(cluster, workers):
        return []
    is_whole = len(heads) == 1 and len(workers) == wanted_workers(cluster["spec"])
    is_untold = (
        not cluster.get("status", {}).get("head", {}).get("serviceName")
    )  # without a head Service there is nothing to tell
    if (is_untold or not (is_whole or _is_suspended(cluster))) and warnings(stage.world, cluster):
        return []  # what could not be made is told of by events
    found = _counts(cluster, workers)
    if _is_suspended(cluster):
        return told([*found, *_suspended(cluster, pods)])
    return told([*found, *_served(cluster, heads, workers)])


def _is_suspended(cluster: Obj) -> bool:
    """Whether it is to be, or was and nobody has said that it is not to be any more."""
    wish = cluster["spec"].get("suspend")
    return wish is True or (wish is None and holds(cluster, "RayClusterSuspended"))


def _counts(cluster: Obj, workers: list[Obj]) -> list[Lie]:
    running = [pod for pod in workers if pod.get("status", {}).get("phase") == "Running"]
    facts = {
        "availableWorkerReplicas": len(running),
        "readyWorkerReplicas": sum(holds(pod, "Ready") for pod in running),
        "desiredWorkerReplicas": wanted_workers(cluster["spec"]),
    }
    said = {name: cluster.get("status", {}).get(name, 0) for name in facts}
    return [(said[name] != count, f"{name} is {said[name]}, and should be {count}") for name, count in facts.items()]


def _suspended(cluster: Obj, pods: list[Obj]) -> list[Lie]:
    state = cluster.get("status", {}).get("state")
    return [
        (bool(pods), f"it is to be suspended and has {len(pods)} pods"),
        (state != "suspended", f"it is to be suspended, and its state is {state!r}"),
        (not holds(cluster, "RayClusterSuspended"), "RayClusterSuspended is not True"),
    ]


def _served(cluster: Obj, heads: list[Obj], workers: list[Obj]) -> list[Lie]:
    state, wanted = cluster.get("status", {}).get("state"), wanted_workers(cluster["spec"])
    is_whole = len(heads) == 1 and len(workers) == wanted
    is_ready = is_whole and all(holds(pod, "Ready") for pod in (*heads, *workers))
    return [
        (not is_whole, f"{len(heads)} heads and {len(workers)} workers of {wanted}, and nothing says why"),
        (any(map(is_leaving, (*heads, *workers))), "all is at rest, but a pod is on its way out"),
        (is_ready and state != "ready", f"every pod is ready, but the state is {state!r}"),
        *(
            (is_ready and not holds(cluster, type_), f"every pod is ready, but {type_} is {condition(cluster, type_)}")
            for type_ in ("HeadPodReady", "RayClusterProvisioned")
        ),
    ]


def _pods(stage: Stage, cluster: Obj) -> list[Obj]:
    name, found = cluster["metadata"]["name"], stage.world.objects(POD, place(cluster))
    return [pod for pod in found if labels(pod).get("ray.io/cluster") == name]


def _strangers(cluster: Obj, workers: list[Obj]) -> bool:
    """Whether there are pods that KubeRay keeps and does not count, and so does Manta.

    Those of a group that is not in the spec any more, and those from before its workers had so many hosts.
    """
    hosts = {group.get("groupName"): group.get("numOfHosts", 1) for group in cluster["spec"].get(GROUPS) or ()}
    sizes = Counter((labels(pod).get("ray.io/group"), labels(pod).get(SLICE, "")) for pod in workers)
    return any(
        group not in hosts or (hosts[group] > 1 and (not name or size != hosts[group]))
        for (group, name), size in sizes.items()
    )


def _of(pods: list[Obj], node: str) -> list[Obj]:
    return [pod for pod in pods if labels(pod).get("ray.io/node-type") == node]
