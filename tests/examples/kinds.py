"""All examples as whole manifests: what each kind has of its own, and the shared rules in every place they apply."""

from collections.abc import Iterable

import msgspec

from manta_common.validation import cluster, fault_tolerance, groups, metadata
from tests.examples import (
    cluster_groups,
    cluster_history,
    cluster_options,
    cluster_storage,
    jobs,
    manifests,
    schedules,
    services,
)
from tests.examples.example import Example, Json
from tests.examples.manifests import workers

DNS1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
NAMESPACE_KEY = "ray.io/external-storage-namespace"
SPEC = (
    *cluster_groups.EXAMPLES,
    *cluster_storage.EXAMPLES,
    *cluster_options.EXAMPLES,
    *cluster_history.EXAMPLES,
)


def in_cluster(examples: Iterable[Example]) -> list[Example]:
    """The examples of a cluster's spec as RayClusters."""
    return [
        msgspec.structs.replace(
            example,
            says=f"RayCluster: {example.says}",
            good=manifests.cluster(example.good),
            bad=manifests.cluster(example.bad),
            path=f"spec.{example.path}",
        )
        for example in examples
    ]


def in_job(examples: Iterable[Example]) -> list[Example]:
    """The examples of a cluster's spec as RayJobs."""
    return [
        msgspec.structs.replace(
            example,
            says=f"RayJob: {example.says}",
            good=manifests.job({"rayClusterSpec": example.good}),
            bad=manifests.job({"rayClusterSpec": example.bad}),
            path=f"spec.rayClusterSpec.{example.path}",
            message=f"The RayJob spec is invalid: {example.message}",
        )
        for example in examples
    ]


def in_service(examples: Iterable[Example]) -> list[Example]:
    """The examples of a cluster's spec as RayServices."""
    return [
        msgspec.structs.replace(
            example,
            says=f"RayService: {example.says}",
            good=manifests.service({"rayClusterConfig": example.good}),
            bad=manifests.service({"rayClusterConfig": example.bad}),
            path=f"spec.rayClusterConfig.{example.path}",
            message=f"The RayService spec is invalid: {example.message}",
        )
        for example in examples
    ]


def as_job(examples: Iterable[Example]) -> list[Example]:
    """The examples of a job's spec as RayJobs."""
    return [
        msgspec.structs.replace(
            example,
            says=f"RayJob: {example.says}",
            good=manifests.job(example.good),
            bad=manifests.job(example.bad),
            path=f"spec.{example.path}",
        )
        for example in examples
    ]


def in_cron_job(examples: Iterable[Example]) -> list[Example]:
    """The examples of RayJobs as RayCronJobs."""
    return [
        msgspec.structs.replace(
            example,
            says=example.says.replace("RayJob:", "RayCronJob:"),
            good=_scheduled(example.good),
            bad=_scheduled(example.bad),
            path=example.path.replace("spec.", "spec.jobTemplate.", 1),
            message=f"invalid RayJob template: {example.message}",
        )
        for example in examples
    ]


def _scheduled(job: Json) -> Json:
    whole = manifests.cron_job()
    return whole | {"spec": whole["spec"] | {"jobTemplate": job["spec"]}}


def _annotated(kind: str) -> list[Example]:
    make = {"RayCluster": manifests.cluster, "RayJob": manifests.job, "RayService": manifests.service}[kind]
    place = {"RayCluster": "", "RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}[kind]
    redis = {place: cluster_storage.REDIS} if place else cluster_storage.REDIS
    prefix = {"RayCluster": ""}.get(kind, f"The {kind} spec is invalid: ")
    return [
        Example(
            says=f"{kind}: fault tolerance is asked for in one way",
            rule=fault_tolerance.FT_TWICE,
            good=make({}, annotations={"ray.io/ft-enabled": "true"}),
            bad=make(redis, annotations={"ray.io/ft-enabled": "false"}),
            path="metadata.annotations[ray.io/ft-enabled]",
            message=f"{prefix}ray.io/ft-enabled annotation and GcsFaultToleranceOptions are both set. Please use only "
            "GcsFaultToleranceOptions to configure GCS fault tolerance",
        ),
        Example(
            says=f"{kind}: with options the storage namespace is not an annotation",
            rule=fault_tolerance.NAMESPACE_IN_ANNOTATION,
            good=make(redis, annotations={NAMESPACE_KEY: ""}),
            bad=make(redis, annotations={NAMESPACE_KEY: "a"}),
            path=f"metadata.annotations[{NAMESPACE_KEY}]",
            message=f"{prefix}cannot set `ray.io/external-storage-namespace` annotation when GcsFaultToleranceOptions "
            "is enabled - use GcsFaultToleranceOptions.ExternalStorageNamespace instead",
        ),
    ]


def _named(kind: str, length: int) -> list[Example]:
    make = {"RayCluster": manifests.cluster, "RayJob": manifests.job, "RayService": manifests.service}[kind]
    prefix = {"RayCluster": ""}.get(kind, f"The {kind} metadata is invalid: ")
    return [
        Example(
            says=f"{kind}: a name leaves room for those made from it",
            rule=metadata.TOO_LONG,
            good=make(name="a" * length),
            bad=make(name="a" * (length + 1)),
            path="metadata.name",
            message=f"{prefix}{kind} name should be no more than {length} characters",
        ),
        Example(
            says=f"{kind}: a name is a DNS label that begins with a letter",
            rule=metadata.NOT_A_LABEL,
            good=make(name="a1-b"),
            bad=make(name="1a.b"),
            path="metadata.name",
            message=f"{prefix}{kind} name should be a valid DNS1035 label: [{DNS1035}]",
        ),
    ]


UNIQUE_GROUPS = Example(
    says="RayCluster: group names are unique",
    rule=groups.NAME_TWICE,
    good=manifests.cluster(workers({}, {"groupName": "big"})),
    bad=manifests.cluster(workers({}, {})),
    path="spec.workerGroupSpecs[1]",
    message="worker group names must be unique",
)
CHILD_UPGRADE = Example(
    says="RayCluster: a cluster of a RayJob has no upgrade strategy of its own",
    rule=cluster.UPGRADE_OF_CHILD,
    good=manifests.cluster(
        {"upgradeStrategy": {"type": "Recreate"}}, labels={"ray.io/originated-from-crd": "Something"}
    ),
    bad=manifests.cluster({"upgradeStrategy": {"type": "None"}}, labels={"ray.io/originated-from-crd": "RayJob"}),
    path="spec.upgradeStrategy.type",
    message="upgradeStrategy cannot be set when RayCluster is created by RayJob",
)

CLUSTERS = (
    *_named("RayCluster", 53),
    *in_cluster(SPEC),
    *in_cluster(cluster_options.K8S_AUTH),
    *_annotated("RayCluster"),
    CHILD_UPGRADE,
)
JOBS = (*_named("RayJob", 47), *as_job(jobs.EXAMPLES), *in_job(SPEC), *_annotated("RayJob"))
SERVICES = (*_named("RayService", 47), *services.EXAMPLES, *in_service(SPEC), *_annotated("RayService"))
CRON_JOBS = (*schedules.EXAMPLES, *in_cron_job([*as_job(jobs.EXAMPLES), *in_job(SPEC)]))
# What the policies cannot judge.
UNCHECKED = (*as_job(jobs.RUNTIME_ENV), *in_cron_job(as_job(jobs.RUNTIME_ENV)), *schedules.UNCHECKED)
