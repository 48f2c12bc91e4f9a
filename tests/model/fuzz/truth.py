"""What must be true of a world that has come to rest, by its objects alone: each status tells what is there."""

from collections.abc import Callable

from manta_common.api.annotations import UPGRADE_TIMEOUT
from manta_common.kinds import (
    GATEWAY,
    HTTPROUTE,
    JOB,
    POD,
    PVC,
    RAYCLUSTER,
    RAYCRONJOB,
    RAYJOB,
    RAYSERVICE,
    SECRET,
    SERVICE,
    Kind,
)
from manta_common.validation.beyond import MOST_HOSTS
from manta_embedded.sim.world import World
from manta_embedded.store.objects import Obj
from manta_job_reconciler.policies.validity import MODES
from tests.examples.example import Json, problems
from tests.model.fuzz import clusters, jobs, services
from tests.model.fuzz.facts import condition, holds, is_leaving, is_refused, owner, place, told, warnings
from tests.model.fuzz.known import NO_DURATION
from tests.model.fuzz.stage import Stage

KINDS: dict[str, Kind] = {kind.kind: kind for kind in (RAYCLUSTER, RAYJOB, RAYSERVICE, RAYCRONJOB)}
LASTING = (*KINDS.values(), POD, SERVICE, JOB, SECRET, PVC, GATEWAY, HTTPROUTE)
OURS = "ray.io/kuberay-operator"


def lies(stage: Stage, namespace: str) -> list[str]:
    """Everything that is said and not so, or so and not said."""
    found = [
        f"{kind.kind} {obj['metadata']['name']}: {lie}"
        for kind in KINDS.values()
        for obj in stage.world.objects(kind, namespace)
        if obj["spec"].get("managedBy", OURS) == OURS
        for lie in (*_validity(stage, obj), *JUDGES[kind.kind](stage, obj))
    ]
    twice = [job for job, count in stage.submitted.items() if count > 1 and f".{namespace}." in job[0]]
    return [*found, *(f"job {job} was submitted more than once" for job in twice)]


def lacking(stage: Stage, obj: Obj) -> str:
    """What an object without a fault has not come to, once all is at rest; nothing when it is served."""
    status = obj.get("status", {})
    if obj["spec"].get("managedBy", OURS) != OURS:
        return ""
    match obj["kind"]:
        case RAYCLUSTER.kind:
            return "" if status.get("state") == "ready" else f"its state is {status.get('state')!r}"
        case RAYJOB.kind:
            # The cluster stays as it was made, as in KubeRay; what is wrong with it is told of the cluster.
            states = [each.get("status", {}).get("state") for each in stage.world.objects(RAYCLUSTER, place(obj))]
            state, is_held_up = status.get("jobDeploymentStatus"), bool(states) and "ready" not in states
            is_served = state in ("Complete", "Failed") or (state == "Initializing" and is_held_up)
            return "" if is_served else f"it is {state!r}"
        case RAYSERVICE.kind:
            return "" if holds(obj, "Ready") else f"Ready is {condition(obj, 'Ready')}"
        case _:
            return "" if status.get("lastScheduleTime") or not stage.gates.cron_job else "it never ran"


def is_told(world: World, obj: Obj) -> bool:
    """Whether a user can see that something is wrong with an object, or with what was made for it."""
    around = (each for kind in KINDS.values() for each in world.objects(kind, obj["metadata"]["namespace"]))
    return any(warnings(world, each) for each in around)


def leftovers(world: World, namespace: str) -> list[str]:
    """Objects that are still there when all that users made is gone."""
    return [
        f"{kind.kind} {obj['metadata']['name']} is left, with finalizers {obj['metadata'].get('finalizers')}"
        for kind in LASTING
        for obj in world.objects(kind, namespace)
        if kind is not PVC or not (is_leaving(obj) or not owner(obj))  # in use, or to be kept
    ]


def _validity(stage: Stage, obj: Obj) -> list[str]:
    """A spec that breaks a rule is refused with a message that tells which, and an event; no other is."""
    wrong, says, refused = _first_problem(stage, obj), _message(obj), is_refused(obj)
    is_told = any(wrong[:100] in text for text in warnings(stage.world, obj))
    has_status = obj["kind"] != RAYCRONJOB.kind
    return told(
        [
            (refused and not wrong and not _is_begun(obj), f"it is refused and there is nothing wrong with it: {says}"),
            (has_status and bool(wrong) and not refused, f"it is not refused, though {wrong}"),
            (refused and wrong not in says, f"it is refused by {says!r}, which does not say that {wrong}"),
            (bool(wrong) and not is_told, f"no event tells that {wrong}"),
            (refused and bool(owner(obj)), f"its owner was taken as it is, and yet it is refused: {says}"),
        ]
    )


def _is_begun(obj: Obj) -> bool:
    """Whether it is a RayService that gets a cluster: until that serves it says why it was refused, as KubeRay does."""
    return bool(obj.get("status", {}).get("pendingServiceStatus", {}).get("rayClusterName"))


def _first_problem(stage: Stage, obj: Obj) -> str:
    about = {name: each for name, each in obj["metadata"].items() if name != "managedFields"}
    whole: Json = {"apiVersion": "ray.io/v1", "kind": obj["kind"], "metadata": about, "spec": obj["spec"]}
    return next((each.message for each in problems(whole, stage.gates)), "") or _own_rule(obj)


def _own_rule(obj: Obj) -> str:
    """What Manta refuses and KubeRay does not: the name of the field."""
    spec, notes = obj["spec"], obj["metadata"].get("annotations") or {}
    if obj["kind"] == RAYJOB.kind and spec.get("submissionMode") not in MODES:
        return "submissionMode"
    if obj["kind"] == RAYSERVICE.kind and notes.get(UPGRADE_TIMEOUT) == NO_DURATION:
        return UPGRADE_TIMEOUT
    inner = spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or {}
    if (inner.get("upgradeStrategy") or {}).get("type") is not None:
        return "upgradeStrategy"
    groups = (spec if obj["kind"] == RAYCLUSTER.kind else inner).get("workerGroupSpecs") or ()
    return "numOfHosts" if any(group.get("numOfHosts", 1) > MOST_HOSTS for group in groups) else ""


def _message(obj: Obj) -> str:
    """Why it is refused, by its status."""
    found = (condition(obj, "Valid"), condition(obj, "Ready"), obj.get("status", {}))
    return " ".join(str(each.get("message", "")) for each in found)


JUDGES: dict[str, Callable[[Stage, Obj], list[str]]] = {
    RAYCLUSTER.kind: clusters.lies,
    RAYJOB.kind: jobs.lies,
    RAYSERVICE.kind: services.lies,
    RAYCRONJOB.kind: lambda _, __: [],
}
