"""What each batch scheduler wants to see on pods."""

from typing import Any

import pytest

from manta_common.api.gates import Gates
from manta_common.api.meta import ObjectMeta
from manta_common.api.rayjob import RayJob
from manta_common.ray.schedulers.mark import Mark
from manta_common.ray.schedulers.marks import mark_of, marked, marked_metadata
from manta_common.ray.schedulers.parent import cluster_parent, job_parent
from manta_common.ray.settings import BatchScheduler, RaySettings
from tests.unit.manta_common.ray.clusters import cluster, head, worker

GANG = {"ray.io/gang-scheduling-enabled": "true"}
WAS = RaySettings(gates=Gates(workload_scheduling=True))


def by(scheduler: BatchScheduler) -> RaySettings:
    return RaySettings(batch_scheduler=scheduler)


def mark(settings: RaySettings, labels: dict[str, str], changes: dict[str, Any] | None = None) -> Mark:
    return mark_of(cluster_parent(cluster({"metadata.labels": labels} | (changes or {}))), "small", settings)


@pytest.mark.parametrize(
    ("settings", "labels", "expected"),
    [
        pytest.param(RaySettings(), GANG, Mark(), id="no scheduler, no mark"),
        pytest.param(
            by("volcano"),
            {},
            Mark(
                annotations={"scheduling.k8s.io/group-name": "ray-demo-pg", "volcano.sh/task-spec": "small"},
                spec={"schedulerName": "volcano"},
            ),
            id="Volcano, always in a group",
        ),
        pytest.param(
            by("volcano"),
            {
                "volcano.sh/queue-name": "q",
                "ray.io/priority-class-name": "p",
                "ray.io/originated-from-crd": "RayService",
            },
            Mark(
                labels={"volcano.sh/queue-name": "q", "ray.io/priority-class-name": "p"},
                annotations={"scheduling.k8s.io/group-name": "ray-demo-pg", "volcano.sh/task-spec": "small"},
                spec={"schedulerName": "volcano"},
            ),
            id="Volcano with queue and priority",
        ),
        pytest.param(
            by("volcano"),
            {
                "ray.io/originated-from-crd": "RayJob",
                "ray.io/originated-from-cr-name": "job",
                "volcano.sh/queue-name": "",
            },
            Mark(
                annotations={"scheduling.k8s.io/group-name": "ray-job-pg", "volcano.sh/task-spec": "small"},
                spec={"schedulerName": "volcano"},
            ),
            id="Volcano, in the group of the job",
        ),
        pytest.param(
            by("volcano"),
            {"ray.io/originated-from-crd": "RayJob"},
            Mark(
                annotations={"scheduling.k8s.io/group-name": "ray-demo-pg", "volcano.sh/task-spec": "small"},
                spec={"schedulerName": "volcano"},
            ),
            id="Volcano, of a job without a name",
        ),
        pytest.param(
            by("yunikorn"),
            {"yunikorn.apache.org/app-id": "a", "yunikorn.apache.org/queue": "q"},
            Mark(labels={"applicationId": "a", "queue": "q"}, spec={"schedulerName": "yunikorn"}),
            id="YuniKorn without a gang",
        ),
        pytest.param(
            by("kai-scheduler"),
            {"kai.scheduler/queue": "q"} | GANG,
            Mark(labels={"kai.scheduler/queue": "q"}, spec={"schedulerName": "kai-scheduler"}),
            id="KAI with a queue",
        ),
        pytest.param(by("kai-scheduler"), {}, Mark(spec={"schedulerName": "kai-scheduler"}), id="KAI without a queue"),
        pytest.param(
            by("scheduler-plugins"),
            {},
            Mark(spec={"schedulerName": "scheduler-plugins-scheduler"}),
            id="scheduler-plugins",
        ),
        pytest.param(
            by("scheduler-plugins"),
            {"ray.io/gang-scheduling-enabled": ""},
            Mark(
                labels={"scheduling.x-k8s.io/pod-group": "demo"},
                spec={"schedulerName": "scheduler-plugins-scheduler"},
            ),
            id="scheduler-plugins with a gang by a label of any value",
        ),
        pytest.param(
            WAS,
            {"ray.io/gang-scheduling-enabled": "True"},
            Mark(
                spec={"schedulerName": "default-scheduler", "schedulingGroup": {"podGroupName": "demo-cluster"}},
            ),
            id="Kubernetes' own gang",
        ),
        pytest.param(WAS, {"ray.io/gang-scheduling-enabled": "yes"}, Mark(), id="Kubernetes' own, by true only"),
    ],
)
def test_marks(settings: RaySettings, labels: dict[str, str], expected: Mark) -> None:
    assert mark(settings, labels) == expected


def test_kubernetes_own_gang_needs_a_fixed_size_and_a_cluster() -> None:
    assert mark(WAS, GANG, {"spec.enableInTreeAutoscaling": True}) == Mark()
    job = RayJob(metadata=ObjectMeta(name="job", labels=GANG))
    assert mark_of(job_parent(job, cluster().spec), "submittergroup", WAS) == Mark()


def test_pods_bear_their_group_s_mark() -> None:
    settings = by("volcano")
    for pod, group in ((head(settings=settings), "headgroup"), (worker(settings=settings), "small")):
        assert pod["spec"]["schedulerName"] == "volcano"
        assert pod["metadata"]["annotations"]["volcano.sh/task-spec"] == group


def test_a_template_without_metadata_can_be_marked() -> None:
    template: dict[str, Any] = {"spec": {"containers": []}}
    made = marked(template, cluster_parent(cluster()), "submittergroup", by("volcano"))
    assert made["spec"] == {"containers": [], "schedulerName": "volcano"}
    assert made["metadata"]["annotations"]["volcano.sh/task-spec"] == "submittergroup"
    assert template == {"spec": {"containers": []}}


def test_a_job_s_cluster_gets_labels_and_annotations_only() -> None:
    job = RayJob(metadata=ObjectMeta(name="job", labels={"volcano.sh/queue-name": "q"}))
    found = mark_of(job_parent(job, cluster().spec), "", by("volcano"))
    assert marked_metadata({"name": "c", "labels": {"a": "b"}}, found) == {
        "name": "c",
        "labels": {"a": "b", "volcano.sh/queue-name": "q"},
        "annotations": {"scheduling.k8s.io/group-name": "ray-job-pg", "volcano.sh/task-spec": ""},
    }
