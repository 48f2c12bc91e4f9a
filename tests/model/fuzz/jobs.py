"""What must be true of a RayJob at rest: it has come to where it stays, and says so."""

from manta_common.kinds import RAYCLUSTER
from manta_embedded.store.objects import Obj
from tests.model.fuzz.facts import Lie, is_leaving, place, told, warnings
from tests.model.fuzz.stage import Stage

RESTING = ("Initializing", "Running", "Complete", "Failed", "Suspended", "Waiting", "ValidationFailed")
SHORT = "sleep 4"  # the entrypoint of a job that nobody has changed


def lies(stage: Stage, job: Obj) -> list[str]:
    """What its status says and what is not so."""
    return [] if is_leaving(job) else told([*_ends(job), *_clusters(stage, job)])


def _ends(job: Obj) -> list[Lie]:
    status = job.get("status", {})
    state, ended = _state(job), status.get("jobStatus")
    return [
        (state not in RESTING, f"it rests while it is {state!r}"),
        (state in ("Complete", "Failed") and "endTime" not in status, f"it is {state} and has no endTime"),
        (state == "Complete" and ended not in ("SUCCEEDED", "STOPPED"), f"it is Complete, but its job is {ended!r}"),
    ]


def _clusters(stage: Stage, job: Obj) -> list[Lie]:
    state, name = _state(job), job.get("status", {}).get("rayClusterName", "")
    cluster = stage.world.find(RAYCLUSTER, name, place(job)) if name else None
    is_served = cluster is not None and cluster.get("status", {}).get("state") == "ready"
    is_short = job["spec"].get("entrypoint") == SHORT and job["spec"].get("submissionMode") != "InteractiveMode"
    is_silent = not warnings(stage.world, job)
    left = stage.world.objects(RAYCLUSTER, place(job))
    return [
        (state in ("Running", "Waiting") and cluster is None, f"it is {state}, but there is no cluster {name!r}"),
        (state == "Suspended" and bool(left), "it is Suspended, but there is a cluster"),
        (state == "Initializing" and is_served and is_silent, "it is Initializing, though its cluster is ready"),
        (state == "Running" and is_short and is_silent, "it runs for ever"),
    ]


def _state(job: Obj) -> str:
    return str(job.get("status", {}).get("jobDeploymentStatus", ""))
