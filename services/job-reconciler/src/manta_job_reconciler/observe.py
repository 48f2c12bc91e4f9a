"""From the views of the feeds to what a decision about a RayJob may know."""

from collections.abc import Iterable

from manta_common.api import labels, names
from manta_common.api.core import Job, Pod, Service
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJob
from manta_common.bus.channel import OF_JOBS
from manta_common.dashboard.reports import JobReport
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.plane import Item
from manta_common.ray.cluster import head_service_name
from manta_job_reconciler.observed import Observed


def cluster_keys(job: RayJob) -> Iterable[Key]:
    """The cluster that a job runs on."""
    name = job.status.ray_cluster_name
    return [Key(job.metadata.namespace, name)] if name else []


def cluster_of(child: Pod | Service) -> Iterable[Key]:
    """The cluster that a pod or Service says it belongs to."""
    name = child.metadata.labels.get(labels.CLUSTER)
    return [Key(child.metadata.namespace, name)] if name else []


def headed_by(pod: Pod) -> Iterable[Key]:
    """The cluster whose head a pod is. What becomes of workers, the status of their cluster tells."""
    return cluster_of(pod) if pod.metadata.labels.get(labels.NODE_TYPE) == labels.HEAD else []


def job_of(child: Job | Service | RayCluster) -> Iterable[Key]:
    """The RayJob that something was made for."""
    marks = child.metadata.labels
    name = marks.get(labels.ORIGINATED_FROM_NAME)
    is_jobs = marks.get(labels.ORIGINATED_FROM_KIND) == "RayJob"
    return [Key(child.metadata.namespace, name)] if name and is_jobs else []


def submitter_of(pod: Pod) -> Iterable[Key]:
    """The RayJob whose submitting Job a pod belongs to."""
    name = pod.metadata.labels.get(labels.JOB_NAME)
    return [Key(pod.metadata.namespace, name)] if name else []


JOBS = Source("rayjob", RayJob, {"cluster": cluster_keys}, family=OF_JOBS)
CLUSTERS = Source("raycluster", RayCluster, family=OF_JOBS)
SERVICES = Source("service", Service, family=OF_JOBS)
SUBMITTERS = Source("job", Job)  # of any family: one without an owner may bear the name of ours
PODS = Source("pod", Pod, {"cluster": cluster_of, "submitter": submitter_of}, family=OF_JOBS)
REPORTS = Source("jobinfo", JobReport)


def observe(view: View, everywhere: View, item: Item) -> Observed | None:
    """What is known of a job; a cluster that it selected may stand in any partition."""
    job = view.of(JOBS).get(item.key)
    if job is None:
        return None
    place = Key(item.key.namespace, job.status.ray_cluster_name)
    around = everywhere if job.spec.cluster_selector else view
    cluster = around.of(CLUSTERS).get(place)
    submitter = view.of(SUBMITTERS).get(item.key)
    return Observed(
        job=job,
        cluster=cluster,
        cluster_service=_head_service(around, cluster),
        own_service=view.of(SERVICES).get(Key(item.key.namespace, names.head_service(item.key.name))),
        submitter=submitter if submitter and item.key in job_of(submitter) else None,
        submitter_pods=tuple(view.of(PODS).find("submitter", item.key)),
        pods=tuple(view.of(PODS).find("cluster", place)),
        report=_believed(view.of(REPORTS).get(item.key), job, cluster),
    )


def _head_service(around: View, cluster: RayCluster | None) -> Service | None:
    if cluster is None:
        return None
    return around.of(SERVICES).get(Key(cluster.metadata.namespace, head_service_name(cluster)))


def _believed(report: JobReport | None, job: RayJob, cluster: RayCluster | None) -> JobReport | None:
    """The report, if it is about this very job, attempt and cluster."""
    if report is None or cluster is None:
        return None
    asked = report.job_uid, report.cluster_uid, report.job_id
    return report if asked == (job.metadata.uid, cluster.metadata.uid, job.status.job_id) else None
