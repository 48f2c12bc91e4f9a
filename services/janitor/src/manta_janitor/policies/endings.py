"""When what of an ended RayJob is deleted: a function of its spec, its status and nothing else. Pure."""

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec

from manta_common.api.rayjob import DeletionCondition, RayJob
from manta_janitor.observed import Ended, EndingJob, JanitorSettings, JobCluster, Policy

# When several are overdue, the one that takes most away.
IMPACT: Final[dict[Policy, int]] = {"DeleteSelf": 4, "DeleteCluster": 3, "DeleteWorkers": 2, "DeleteNone": 1}


class Deletion(msgspec.Struct, frozen=True, order=True, gc=False):
    """One thing to delete: when, what, and by which rule."""

    at: datetime
    policy: Policy
    rule: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is due now, and what will be due next, if anything."""

    due: Deletion | None = None
    upcoming: Deletion | None = None


def plan(ended: Ended, settings: JanitorSettings, now: datetime) -> Plan:
    """Return what is to be done for a job: of all that is overdue and not done yet, the one with most impact."""
    if not ended.is_ours:
        return Plan()
    open_ = [each for each in deletions(ended.job, settings) if not is_done(each.policy, ended.cluster)]
    overdue = [each for each in open_ if each.at <= now]
    return Plan(
        due=max(overdue, key=lambda each: IMPACT[each.policy], default=None),
        upcoming=min((each for each in open_ if each.at > now), default=None, key=lambda each: each.at),
    )


def deletions(job: EndingJob | RayJob, settings: JanitorSettings) -> Iterator[Deletion]:
    """Yield everything that the job's spec asks for now that it has ended this way, in the order of the spec."""
    strategy, ended_at = job.spec.deletion_strategy, job.status.end_time
    if ended_at is None:
        return
    if settings.gates.deletion_policy and strategy:
        yield from _by_rules(job, ended_at) if strategy.deletion_rules is not None else _by_outcome(job, ended_at)
    elif job.spec.shutdown_after_job_finishes:
        policy: Policy = "DeleteSelf" if settings.deletes_jobs else "DeleteCluster"
        yield Deletion(_after(ended_at, job.spec.ttl_seconds_after_finished), policy, "shutdownAfterJobFinishes")


def is_done(policy: Policy, cluster: JobCluster | None) -> bool:
    """Whether nothing is left to do for a policy."""
    match policy:
        case "DeleteNone":
            return True
        case "DeleteSelf":
            return False
        case "DeleteCluster":
            return is_gone(cluster)
        case "DeleteWorkers":
            return is_gone(cluster) or not (cluster and cluster.has_workers)


def is_gone(cluster: JobCluster | None) -> bool:
    """Whether there is no cluster, or not for long."""
    return cluster is None or cluster.metadata.deletion_timestamp is not None


def _by_rules(job: EndingJob | RayJob, ended_at: datetime) -> Iterator[Deletion]:
    rules = job.spec.deletion_strategy.deletion_rules if job.spec.deletion_strategy else None
    for index, rule in enumerate(rules or ()):
        if _matches(rule.condition, job):
            yield Deletion(
                _after(ended_at, rule.condition.ttl_seconds), rule.policy, sys.intern(f"deletionRules[{index}]")
            )


def _by_outcome(job: EndingJob | RayJob, ended_at: datetime) -> Iterator[Deletion]:
    """The older way: one policy for success, one for failure; a job that was stopped keeps everything."""
    strategy = job.spec.deletion_strategy
    if strategy is None:
        return
    outcomes = {"SUCCEEDED": ("onSuccess", strategy.on_success), "FAILED": ("onFailure", strategy.on_failure)}
    name, chosen = outcomes.get(job.status.job_status, ("", None))
    if chosen and chosen.policy:
        yield Deletion(_after(ended_at, job.spec.ttl_seconds_after_finished), chosen.policy, name)


def _matches(condition: DeletionCondition, job: EndingJob | RayJob) -> bool:
    if condition.job_status is not None:
        return condition.job_status == job.status.job_status
    return condition.job_deployment_status == job.status.job_deployment_status


def _after(ended_at: datetime, seconds: int) -> datetime:
    return ended_at + timedelta(seconds=seconds)
