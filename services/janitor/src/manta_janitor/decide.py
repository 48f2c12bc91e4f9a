"""From an ended RayJob to actions: what is due, what is announced, and when to look again. Pure."""

from typing import Final

from manta_common.deeds import Recheck
from manta_common.phases import Phase
from manta_janitor.actions import Announce, CarryOut, JobAction
from manta_janitor.observed import Ended, EndingJob, Said
from manta_janitor.policies.endings import Deletion, Plan, is_gone

DONE: Final = "CleanedUp"
CANCELLED: Final = "NothingToCleanUp"
_WHAT: Final = {
    "DeleteSelf": "the RayJob",
    "DeleteCluster": "the RayCluster",
    "DeleteWorkers": "the worker pods of the RayCluster",
    "DeleteNone": "nothing",
}


def decide(ended: Ended, found: Plan) -> list[Phase[JobAction]]:
    """Return what is to be done for a job by its plan; nothing for one that has not ended or keeps everything.

    The next look comes first and the announcement last: neither a deletion nor an announcement that fails holds up
    what else is due.
    """
    later: list[JobAction] = [Recheck(found.upcoming.at)] if found.upcoming else []
    due: list[JobAction] = [CarryOut(found.due)] if found.due else []
    return [phase for phase in (later, due, _announced(ended, found)) if phase]


def announcement(upcoming: Deletion) -> Announce:
    """What the condition says of the next deletion."""
    at = f"{upcoming.at:%Y-%m-%dT%H:%M:%SZ}"
    return Announce("True", upcoming.policy, f"{_WHAT[upcoming.policy]} will be deleted at {at} by {upcoming.rule}")


def _announced(ended: Ended, found: Plan) -> list[JobAction]:
    """A new condition, if it would say something else than the one that is there."""
    said = ended.job.status.announced if isinstance(ended.job, EndingJob) else ""
    if found.upcoming:
        wanted = announcement(found.upcoming)
        return [] if said == Said(status=wanted.status, message=wanted.message).digest else [wanted]
    is_open = said.startswith("True")
    if not is_open or found.due or ended.job.metadata.deletion_timestamp is not None:
        return []
    if is_gone(ended.cluster):
        return [Announce("False", DONE, "all that was to be deleted is deleted")]
    return [Announce("False", CANCELLED, "no rule of the job asks for a deletion any more")]
