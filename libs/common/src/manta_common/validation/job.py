"""All rules for a RayJob, in KubeRay's order; the spec's rules serve RayCronJobs too."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from msgspec import UNSET

from manta_common.api import labels
from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayClusterSpec
from manta_common.api.rayjob import RayJob, RayJobSpec
from manta_common.api.templates import pod_template
from manta_common.validation import auth, cluster, deletion, metadata
from manta_common.validation.problem import Problem, Rule, retold
from manta_common.validation.view import cluster_view, restarts
from manta_common.validation.yamltext import mapping_fault

METADATA_PREFIX: Final = "The RayJob metadata is invalid: "
SPEC_PREFIX: Final = "The RayJob spec is invalid: "

SUSPEND_WITHOUT_SHUTDOWN: Final = Rule(
    "The RayJob spec is invalid: a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended",
    "Set shutdownAfterJobFinishes to true.",
)
TTL_NEGATIVE: Final = Rule(
    "The RayJob spec is invalid: TTLSecondsAfterFinished must be a non-negative integer",
    "Set ttlSecondsAfterFinished to 0 or more.",
)
SUSPEND_WITH_SELECTOR: Final = Rule(
    "The RayJob spec is invalid: the ClusterSelector mode doesn't support the suspend operation",
    "Take suspend away, or give the job a cluster of its own.",
)
NO_CLUSTER: Final = Rule(
    "The RayJob spec is invalid: one of RayClusterSpec or ClusterSelector must be set",
    "Describe a cluster in rayClusterSpec, or name one in clusterSelector under ray.io/cluster.",
)
SELECTOR_WITHOUT_NAME: Final = Rule(
    "cluster name in ClusterSelector should not be empty",
    "Name the cluster in clusterSelector under the key ray.io/cluster.",
)
SELECTOR_WITH_SIDECAR: Final = Rule(
    "ClusterSelector is not supported in SidecarMode",
    "Use another submissionMode, or give the job a cluster of its own.",
)
SELECTOR_WITH_RETRIES: Final = Rule(
    "The RayJob spec is invalid: BackoffLimit is incompatible with ClusterSelector mode",
    "Leave backoffLimit out: each retry would need a new cluster.",
)
INTERACTIVE_WITH_RETRIES: Final = Rule(
    "The RayJob spec is invalid: BackoffLimit is incompatible with InteractiveMode",
    "Leave backoffLimit out: nobody is there to submit again.",
)
SIDECAR_WITH_TEMPLATE: Final = Rule(
    "Currently, SidecarMode doesn't support SubmitterPodTemplate",
    "Leave submitterPodTemplate out: in SidecarMode the head's pod submits.",
)
SIDECAR_WITH_CONFIG: Final = Rule(
    "Currently, SidecarMode doesn't support SubmitterConfig",
    "Leave submitterConfig out: in SidecarMode there is no submitting Job.",
)
SIDECAR_RESTARTS: Final = Rule(
    "restartPolicy for head Pod should be Never or unset when using SidecarMode",
    "Remove restartPolicy from the head's pod template.",
)
K8S_TOKENS: Final = Rule(
    "The RayJob spec is invalid: K8s token auth mode is currently not supported for RayJob",
    "Leave enableK8sTokenAuth out.",
)
RUNTIME_ENV: Final = Rule(
    "failed to unmarshal RuntimeEnvYAML: {text}: {fault}", "Write runtimeEnvYAML as a YAML mapping."
)
DEADLINE: Final = Rule(
    "The RayJob spec is invalid: activeDeadlineSeconds must be a positive integer",
    "Set activeDeadlineSeconds to 1 or more, or leave it out for no deadline.",
)
PRE_RUNNING_DEADLINE: Final = Rule(
    "The RayJob spec is invalid: preRunningDeadlineSeconds must be a positive integer",
    "Set preRunningDeadlineSeconds to 1 or more, or leave it out for no deadline.",
)
RETRIES_NEGATIVE: Final = Rule(
    "The RayJob spec is invalid: backoffLimit must be a positive integer", "Set backoffLimit to 0 or more."
)
WAITING: Final = Rule(
    "The RayJob status is invalid: JobDeploymentStatus cannot be `Waiting` when SubmissionMode is not InteractiveMode",
    "Set submissionMode back to InteractiveMode, or make the job anew.",
)


class JobView(msgspec.Struct, frozen=True):
    """A job's spec wherever it stands: in a RayJob or in a RayCronJob's template."""

    spec: RayJobSpec
    annotations: Mapping[str, str]
    gates: Gates
    path: str = "spec"

    @property
    def retries(self) -> int:
        """How often the job is to be tried again."""
        return self.spec.backoff_limit or 0


def validate_job(job: RayJob, gates: Gates) -> list[Problem]:
    """Return what is wrong with a RayJob; the first message is the one that KubeRay would report."""
    view = JobView(job.spec, job.metadata.annotations, gates)
    return [*metadata_problems(job), *spec_problems(view), *status_problems(job)]


def metadata_problems(job: RayJob) -> Iterator[Problem]:
    """Yield what is wrong with a RayJob's name."""
    yield from retold(metadata.name_problems("RayJob", job.metadata.name), METADATA_PREFIX)


def spec_problems(view: JobView) -> Iterator[Problem]:
    """Yield what is wrong with a job's spec, wherever it stands."""
    spec = view.spec
    if spec.suspend and not spec.shutdown_after_job_finishes:
        yield SUSPEND_WITHOUT_SHUTDOWN.at(f"{view.path}.suspend")
    if spec.ttl_seconds_after_finished < 0:
        yield TTL_NEGATIVE.at(f"{view.path}.ttlSecondsAfterFinished")
    yield from deletion.problems(spec, view.gates, view.path)
    yield from _selector(view)
    yield from _submission(view)
    if spec.ray_cluster_spec is not None:
        yield from _cluster(view, spec.ray_cluster_spec)
    yield from _runtime_env(view)
    yield from _limits(view)


def status_problems(job: RayJob) -> Iterator[Problem]:
    """Yield what cannot be in a RayJob's status."""
    if job.status.job_deployment_status == "Waiting" and job.spec.submission_mode != "InteractiveMode":
        yield WAITING.at("status.jobDeploymentStatus")


def _selector(view: JobView) -> Iterator[Problem]:
    spec, path = view.spec, f"{view.path}.clusterSelector"
    if not spec.cluster_selector:
        if spec.ray_cluster_spec is None:
            yield NO_CLUSTER.at(f"{view.path}.rayClusterSpec")
        return
    if spec.suspend:
        yield SUSPEND_WITH_SELECTOR.at(f"{view.path}.suspend")
    if not spec.cluster_selector.get(labels.CLUSTER):
        yield SELECTOR_WITHOUT_NAME.at(f"{path}[{labels.CLUSTER}]")
    if spec.submission_mode == "SidecarMode":
        yield SELECTOR_WITH_SIDECAR.at(path)
    if view.retries > 0:
        yield SELECTOR_WITH_RETRIES.at(f"{view.path}.backoffLimit")


def _submission(view: JobView) -> Iterator[Problem]:
    spec = view.spec
    if spec.submission_mode == "InteractiveMode" and view.retries > 0:
        yield INTERACTIVE_WITH_RETRIES.at(f"{view.path}.backoffLimit")
    if spec.submission_mode != "SidecarMode":
        return
    if spec.submitter_pod_template is not UNSET:
        yield SIDECAR_WITH_TEMPLATE.at(f"{view.path}.submitterPodTemplate")
    if spec.submitter_config is not None:
        yield SIDECAR_WITH_CONFIG.at(f"{view.path}.submitterConfig")
    if spec.ray_cluster_spec and restarts(pod_template(spec.ray_cluster_spec.head_group_spec.template).spec):
        yield SIDECAR_RESTARTS.at(f"{view.path}.rayClusterSpec.headGroupSpec.template.spec.restartPolicy")


def _cluster(view: JobView, spec: RayClusterSpec) -> Iterator[Problem]:
    path = f"{view.path}.rayClusterSpec"
    if auth.uses_k8s_tokens(spec):
        yield K8S_TOKENS.at(f"{path}.authOptions.enableK8sTokenAuth")
    inner = cluster_view(spec, annotations=view.annotations, gates=view.gates, path=path)
    yield from retold(cluster.spec_problems(inner), SPEC_PREFIX)


def _runtime_env(view: JobView) -> Iterator[Problem]:
    text = view.spec.runtime_env_yaml
    fault = mapping_fault(text)
    if fault:
        yield RUNTIME_ENV.at(f"{view.path}.runtimeEnvYAML", text=text, fault=fault)


def _limits(view: JobView) -> Iterator[Problem]:
    spec = view.spec
    if spec.active_deadline_seconds is not None and spec.active_deadline_seconds <= 0:
        yield DEADLINE.at(f"{view.path}.activeDeadlineSeconds")
    if spec.pre_running_deadline_seconds is not None and spec.pre_running_deadline_seconds <= 0:
        yield PRE_RUNNING_DEADLINE.at(f"{view.path}.preRunningDeadlineSeconds")
    if view.retries < 0:
        yield RETRIES_NEGATIVE.at(f"{view.path}.backoffLimit")
