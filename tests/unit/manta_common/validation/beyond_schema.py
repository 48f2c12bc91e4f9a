"""Objects that the API server would not store, or that only the status shows: the rules hold for them all the same."""

from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from manta_common.api.gates import Gates
from manta_common.api.meta import Condition
from manta_common.api.raycluster import RayCluster, RayClusterUpgradeStrategy
from manta_common.api.raycronjob import RayCronJob
from manta_common.api.rayjob import DeletionCondition, DeletionPolicy, DeletionRule, DeletionStrategy, RayJob
from manta_common.api.rayservice import RayService
from manta_common.validation import autoscaling, cluster, cron_job, deletion, groups, job, service, tls
from manta_common.validation.problem import Problem, Rule
from tests.examples import manifests
from tests.examples.example import ALL_GATES, Json
from tests.examples.manifests import both, worker, workers

Kind = TypeVar("Kind", RayCluster, RayJob, RayService, RayCronJob)
replace = msgspec.structs.replace
RESTARTING: Json = {"template": {"spec": {"restartPolicy": "Always"}}}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, what is found where it is kept, and what where it is broken."""

    says: str
    rule: Rule
    good: list[Problem]
    bad: list[Problem]
    path: str
    message: str


def decoded(manifest: Json, kind: type[Kind]) -> Kind:
    """A manifest as our type."""
    return msgspec.json.decode(msgspec.json.encode(manifest), type=kind)


def of_cluster(patch: Json | None = None, *, cert_manager: bool = True, **spec: Any) -> list[Problem]:
    """What is wrong with a RayCluster in whose spec some fields are replaced."""
    found = decoded(manifests.cluster(patch), RayCluster)
    changed = replace(found, spec=replace(found.spec, **spec))
    return cluster.validate_cluster(changed, ALL_GATES, cert_manager=cert_manager)


def of_conditions(*types: str) -> list[Problem]:
    """What is wrong with a RayCluster whose status says that some conditions are true."""
    since = datetime(2026, 1, 1, tzinfo=UTC)
    conditions = tuple(
        Condition(type=name, status="True", reason=name, message="", last_transition_time=since) for name in types
    )
    found = decoded(manifests.cluster(), RayCluster)
    return cluster.validate_cluster(replace(found, status=replace(found.status, conditions=conditions)), ALL_GATES)


def of_job(**spec: Any) -> list[Problem]:
    """What is wrong with a RayJob in whose spec some fields are replaced."""
    found = decoded(manifests.job(), RayJob)
    return job.validate_job(replace(found, spec=replace(found.spec, **spec)), ALL_GATES)


def of_waiting(mode: str) -> list[Problem]:
    """What is wrong with a RayJob that waits in some submission mode."""
    found = decoded(manifests.job({"submissionMode": mode}), RayJob)
    return job.validate_job(replace(found, status=replace(found.status, job_deployment_status="Waiting")), ALL_GATES)


def of_strategy(**fields: Any) -> list[Problem]:
    """What is wrong with a RayJob of this deletion strategy."""
    return of_job(deletion_strategy=DeletionStrategy(**fields))


def of_condition(**fields: Any) -> list[Problem]:
    """What is wrong with a RayJob whose only deletion rule has this condition."""
    rule = DeletionRule(policy="DeleteSelf", condition=DeletionCondition(**fields))
    return of_strategy(deletion_rules=(rule,))


def of_delay(seconds: int) -> list[Problem]:
    """What is wrong with a RayService of this deletion delay."""
    found = decoded(manifests.service(), RayService)
    spec = replace(found.spec, ray_cluster_deletion_delay_seconds=seconds)
    return service.validate_service(replace(found, spec=spec), ALL_GATES)


def of_zone(name: str | None) -> list[Problem]:
    """What is wrong with a RayCronJob of this time zone."""
    found = decoded(manifests.cron_job(), RayCronJob)
    return cron_job.validate_cron_job(replace(found, spec=replace(found.spec, time_zone=name)), ALL_GATES)


def warnings(patch: Json) -> list[Problem]:
    """What a RayCluster is warned of."""
    return cluster.cluster_warnings(decoded(manifests.cluster(patch), RayCluster), Gates())


KEEP = DeletionPolicy(policy="DeleteNone")
CASES = [
    Case(
        says="without autoscaling a group has both bounds",
        rule=groups.REPLICAS_UNSET,
        good=of_cluster(both({"enableInTreeAutoscaling": True}, worker(minReplicas=None, maxReplicas=None))),
        bad=of_cluster(worker(maxReplicas=None)),
        path="spec.workerGroupSpecs[0].maxReplicas",
        message="worker group small must set both minReplicas and maxReplicas when autoscaling is disabled",
    ),
    Case(
        says="a cluster's upgrade type is known",
        rule=cluster.UPGRADE_TYPE,
        good=of_cluster({"upgradeStrategy": {"type": "None"}}),
        bad=of_cluster(
            upgrade_strategy=RayClusterUpgradeStrategy(type="Sometimes"),  # type: ignore[arg-type]
        ),
        path="spec.upgradeStrategy.type",
        message="The RayCluster spec is invalid: Spec.UpgradeStrategy.Type value Sometimes is invalid, valid options "
        "are Recreate or None",
    ),
    Case(
        says="encryption needs cert-manager",
        rule=tls.CERT_MANAGER,
        good=of_cluster({"tlsOptions": {"enabled": False}}, cert_manager=False),
        bad=of_cluster({"tlsOptions": {"enabled": True}}, cert_manager=False),
        path="spec.tlsOptions.enabled",
        message="tlsOptions requires cert-manager, but cert-manager is not installed",
    ),
    Case(
        says="a cluster is not suspending and suspended at once",
        rule=cluster.SUSPENDED_TWICE,
        good=of_conditions("RayClusterSuspended", "HeadPodReady"),
        bad=of_conditions("RayClusterSuspended", "RayClusterSuspending"),
        path="status.conditions",
        message="invalid RayCluster State: rayv1.RayClusterSuspending and rayv1.RayClusterSuspended conditions should "
        "not be both true",
    ),
    Case(
        says="rules and the old form are not mixed",
        rule=deletion.RULES_WITH_LEGACY,
        good=of_strategy(on_success=KEEP, on_failure=KEEP),
        bad=of_strategy(
            on_success=KEEP,
            on_failure=KEEP,
            deletion_rules=(DeletionRule(policy="DeleteSelf", condition=DeletionCondition(job_status="FAILED")),),
        ),
        path="spec.deletionStrategy.deletionRules",
        message="The RayJob spec is invalid: Cannot use both legacy onSuccess/onFailure fields and deletionRules "
        "simultaneously",
    ),
    Case(
        says="the old form has both outcomes",
        rule=deletion.LEGACY_HALF,
        good=of_strategy(on_success=KEEP, on_failure=KEEP),
        bad=of_strategy(on_failure=KEEP),
        path="spec.deletionStrategy",
        message="both DeletionStrategy.OnSuccess and DeletionStrategy.OnFailure must be set when using the legacy "
        "deletion policy fields of DeletionStrategy",
    ),
    Case(
        says="a strategy says something",
        rule=deletion.STRATEGY_EMPTY,
        good=of_condition(job_status="FAILED"),
        bad=of_strategy(deletion_rules=()),
        path="spec.deletionStrategy",
        message="The RayJob spec is invalid: DeletionStrategy requires either BOTH onSuccess and onFailure, OR the "
        "deletionRules field (cannot be empty)",
    ),
    Case(
        says="a rule's condition is one state",
        rule=deletion.CONDITION_BOTH,
        good=of_condition(job_status="FAILED"),
        bad=of_condition(job_status="FAILED", job_deployment_status="Failed"),
        path="spec.deletionStrategy.deletionRules[0].condition",
        message="deletionRules[0]: cannot set both JobStatus and JobDeploymentStatus at the same time",
    ),
    Case(
        says="a rule's condition is a state",
        rule=deletion.CONDITION_NEITHER,
        good=of_condition(job_deployment_status="Failed"),
        bad=of_condition(),
        path="spec.deletionStrategy.deletionRules[0].condition",
        message="deletionRules[0]: exactly one of JobStatus and JobDeploymentStatus must be set",
    ),
    Case(
        says="a rule's time is not negative",
        rule=deletion.TTL_NEGATIVE,
        good=of_condition(job_status="FAILED", ttl_seconds=0),
        bad=of_condition(job_status="FAILED", ttl_seconds=-1),
        path="spec.deletionStrategy.deletionRules[0].condition.ttlSeconds",
        message="deletionRules[0]: TTLSeconds must be non-negative",
    ),
    Case(
        says="the deadline for running is in the future",
        rule=job.PRE_RUNNING_DEADLINE,
        good=of_job(pre_running_deadline_seconds=1),
        bad=of_job(pre_running_deadline_seconds=0),
        path="spec.preRunningDeadlineSeconds",
        message="The RayJob spec is invalid: preRunningDeadlineSeconds must be a positive integer",
    ),
    Case(
        says="only an interactive job waits",
        rule=job.WAITING,
        good=of_waiting("InteractiveMode"),
        bad=of_waiting("HTTPMode"),
        path="status.jobDeploymentStatus",
        message="The RayJob status is invalid: JobDeploymentStatus cannot be `Waiting` when SubmissionMode is not "
        "InteractiveMode",
    ),
    Case(
        says="a replaced cluster does not go before it is replaced",
        rule=service.DELAY_NEGATIVE,
        good=of_delay(0),
        bad=of_delay(-1),
        path="spec.rayClusterDeletionDelaySeconds",
        message="The RayService spec is invalid: Spec.RayClusterDeletionDelaySeconds should be a non-negative integer, "
        "got -1",
    ),
    Case(
        says="a time zone has a name",
        rule=cron_job.ZONE_EMPTY,
        good=of_zone(None),
        bad=of_zone(""),
        path="spec.timeZone",
        message="timeZone must not be empty string, omit the field to use the local time zone of the KubeRay operator",
    ),
]

V1: Json = {"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v1"}}
WARNINGS = [
    Case(
        says="under autoscaler v1 workers should not restart in place",
        rule=autoscaling.V1_WORKER_RESTARTS,
        good=warnings(both(V1, {"autoscalerOptions": {"version": "v2"}}, worker(**RESTARTING))),
        bad=warnings(both(V1, workers(RESTARTING, {"groupName": "calm"}, {"groupName": "big", **RESTARTING}))),
        path="spec.workerGroupSpecs",
        message="restartPolicy for worker groups [small, big] should be Never or unset when using autoscaler V1",
    ),
    Case(
        says="group names should be unique",
        rule=groups.NAME_TWICE,
        good=warnings(workers({}, {"groupName": "big"})),
        bad=warnings(workers({}, {})),
        path="spec.workerGroupSpecs[1]",
        message="worker group names must be unique",
    ),
]
