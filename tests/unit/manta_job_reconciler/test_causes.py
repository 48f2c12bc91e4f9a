"""What a job waits for, and why it does not get on."""

from typing import Any

import msgspec
import pytest

from manta_common.api.core import ContainerState, ContainerStatus, Pod, PodStatus, StateOfContainer, StatusCondition
from manta_common.api.meta import Condition, ObjectMeta
from manta_common.api.raycluster import RayCluster
from manta_common.ray.settings import RaySettings
from manta_job_reconciler.conditions import refused, unasked
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.policies.causes import CHARACTERS, awaited, told, trouble
from manta_job_reconciler.status import completed
from manta_job_reconciler.step import find
from tests.unit.manta_job_reconciler.made import NOW, URL, cluster, job, observed, report, running, settled, status

UNSCHEDULABLE = StatusCondition(
    type="PodScheduled", status="False", reason="Unschedulable", message="0/3 nodes: no GPU"
)
PULL = ContainerState(waiting=StateOfContainer(reason="ImagePullBackOff", message="no such image"))
CRASH = ContainerState(terminated=StateOfContainer(exit_code=137, reason="OOMKilled"))
SELECTOR: dict[str, Any] = {"clusterSelector": {"ray.io/cluster": "shared"}}


def pod(*states: ContainerState, conditions: tuple[StatusCondition, ...] = ()) -> Pod:
    containers = tuple(ContainerStatus(name="ray-head", state=state) for state in states)
    return Pod(
        metadata=ObjectMeta(name="p", namespace="ns"),
        status=PodStatus(conditions=conditions, container_statuses=containers),
    )


def failing(type_: str, value: Any, reason: str, message: str) -> RayCluster:
    condition = Condition(type=type_, status=value, last_transition_time=NOW, reason=reason, message=message)
    made = cluster("")
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, conditions=(condition,)))


def coming(**found: Any) -> Observed:
    return observed(job("K8sJobMode"), status("Initializing"), **({"cluster": cluster("")} | found))


@pytest.mark.parametrize(
    ("about", "says"),
    [
        pytest.param(coming(), "", id="nothing is wrong"),
        pytest.param(
            coming(cluster=failing("PodsFailing", "True", "ErrImagePull", "no such image")),
            "ErrImagePull: no such image",
            id="the cluster tells of its pods",
        ),
        pytest.param(
            coming(cluster=failing("ReplicaFailure", "True", "FailedCreateHeadPod", "exceeded quota: gpus")),
            "FailedCreateHeadPod: exceeded quota: gpus",
            id="a quota",
        ),
        pytest.param(
            coming(cluster=failing("Valid", "False", "InvalidRayClusterSpec", "no head")),
            "InvalidRayClusterSpec: no head",
            id="a cluster that cannot be served",
        ),
        pytest.param(
            coming(pods=(pod(conditions=(UNSCHEDULABLE,)),)),
            "Pod p: Unschedulable: 0/3 nodes: no GPU",
            id="a pod without a node",
        ),
        pytest.param(
            coming(submitter_pods=(pod(PULL),)),
            "Pod p: container ray-head waits: ImagePullBackOff: no such image",
            id="an image of the submitter",
        ),
        pytest.param(
            coming(pods=(pod(CRASH),)),
            "Pod p: container ray-head ended with exit code 137, OOMKilled",
            id="a container that crashed",
        ),
        pytest.param(
            coming(pods=(pod(ContainerState(waiting=StateOfContainer(reason="ContainerCreating"))),)),
            "",
            id="a container that starts in a moment",
        ),
    ],
)
def test_trouble(about: Observed, says: str) -> None:
    assert trouble(about) == says


def test_the_cause_is_told_only_before_ray_has_the_job() -> None:
    stuck = coming(pods=(pod(conditions=(UNSCHEDULABLE,)),))
    assert told(stuck, "Too late") == "Too late. Cause: Pod p: Unschedulable: 0/3 nodes: no GPU"
    assert told(stuck.after(running(job_status="RUNNING")), "Too late") == "Too late"


def test_a_refusal_of_the_api_server_is_told_and_is_the_cause() -> None:
    begun = observed(job(), status("Initializing"))
    said = refused(completed(begun, begun.status, JobSettings(), NOW), "exceeded quota: clusters")
    assert (find(said, "Initialized") or pytest.fail("not told")).message == (
        "What the job needs cannot be made: exceeded quota: clusters"
    )
    assert told(begun.after(said), "Too late").endswith(
        "Cause: What the job needs cannot be made: exceeded quota: clusters"
    )


def test_a_refusal_after_the_beginning_changes_no_condition() -> None:
    begun = settled(job(), running())
    said = completed(begun, begun.status, JobSettings(), NOW)
    assert refused(said, "no") == said


def test_why_ray_could_not_be_given_the_job_is_told_until_there_is_more_to_tell() -> None:
    begun = settled(job(), running())
    said = unasked(completed(begun, begun.status, JobSettings(), NOW), "no answer in time")
    assert (find(said, "Submitted") or pytest.fail("not told")).message == "no answer in time"
    assert said.message == ""
    assert awaited(begun.after(said), said, JobSettings()) == "no answer in time"
    heard = settled(job(), said, report=report(trouble="unreachable"))
    assert awaited(heard, said, JobSettings()) == "Waits for an answer of the dashboard."


def test_a_cause_is_never_long() -> None:
    assert len(trouble(coming(cluster=failing("PodsFailing", "True", "X", "long " * 1000)))) == CHARACTERS


@pytest.mark.parametrize(
    ("about", "says"),
    [
        pytest.param(coming(), "Waits until RayCluster demo-c is ready.", id="a cluster"),
        pytest.param(
            coming(pods=(pod(PULL),)),
            "Waits until RayCluster demo-c is ready: Pod p: container ray-head waits: ImagePullBackOff: no such image",
            id="a cluster that is in trouble",
        ),
        pytest.param(
            observed(job(**SELECTOR), status("Initializing", ray_cluster_name="shared")),
            "Waits until RayCluster shared is ready: it is named by spec.clusterSelector and does not exist; create it",
            id="a cluster that a person must make",
        ),
        pytest.param(
            coming(cluster=cluster()),
            "Waits for the head Service of RayCluster demo-c with a port called dashboard.",
            id="a Service",
        ),
        pytest.param(
            settled(job("InteractiveMode"), status("Waiting", dashboard_url=URL)),
            "Submit a job to RayCluster demo-c and write its id into spec.jobId.",
            id="a person",
        ),
        pytest.param(settled(job("K8sJobMode"), running()), "Waits for the submitter.", id="a submitter"),
        pytest.param(
            settled(job("InteractiveMode"), running(), report=report(trouble="not_found")),
            "Ray does not know job demo-1: submit it to RayCluster demo-c under this id.",
            id="a job that nobody submitted",
        ),
        pytest.param(
            settled(job(), running(), report=report(trouble="unreachable")),
            "Waits for an answer of the dashboard.",
            id="an answer",
        ),
        pytest.param(settled(job(), running(), report=report("RUNNING")), "", id="nothing but Ray"),
        pytest.param(
            settled(job(), running(job_deployment_status="Retrying")),
            "Waits until RayCluster demo-c and the submitter of this attempt are gone.",
            id="an end",
        ),
        pytest.param(
            observed(job(suspend=True), status("Suspended")), "Set spec.suspend to false to resume.", id="a resumption"
        ),
    ],
)
def test_what_a_job_waits_for(about: Observed, says: str) -> None:
    assert awaited(about, about.status, JobSettings()) == says


@pytest.mark.parametrize(
    ("scheduler", "mode", "word"),
    [
        pytest.param("kai-scheduler", "K8sJobMode", "KAI-Scheduler does not support RayJob with K8sJobMode", id="kai"),
        pytest.param("scheduler-plugins", "HTTPMode", "takes RayClusters only", id="scheduler-plugins"),
    ],
)
def test_a_scheduler_that_does_not_take_the_job_is_named(scheduler: Any, mode: str, word: str) -> None:
    settings = JobSettings(ray=RaySettings(batch_scheduler=scheduler))
    about = observed(job(mode), status("Initializing"))
    assert word in awaited(about, about.status, settings)
