"""The objects that a RayJob or RayCronJob makes."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayCluster
from manta_common.api.raycronjob import RayCronJob
from manta_common.api.rayjob import RayJob
from manta_common.ray.cluster import Unbuildable
from manta_common.ray.settings import RaySettings
from manta_job_reconciler import manifests
from tests.unit.manta_job_reconciler.made import NOW, SPEC, URL, cluster, job, observed, running

SETTINGS = RaySettings()
OWNER = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "name": "demo",
    "uid": "job-uid",
    "controller": True,
    "blockOwnerDeletion": True,
}
MARKS = {"ray.io/originated-from-cr-name": "demo", "ray.io/originated-from-crd": "RayJob"}


def begun(*args: Any, **spec: Any) -> RayJob:
    return observed(job(*args, **spec), running()).job


def with_auth(**options: Any) -> RayCluster:
    made = cluster()
    spec = msgspec.json.decode(msgspec.json.encode(SPEC | {"authOptions": options}), type=type(made.spec))
    return msgspec.structs.replace(made, spec=spec)


def names(container: dict[str, Any]) -> list[str]:
    return [variable["name"] for variable in container["env"]]


def test_a_cluster_inherits_labels_annotations_and_spec() -> None:
    about = begun(meta={"labels": {"team": "a"}, "annotations": {"ray.io/ft-enabled": "true"}})
    made = manifests.ray_cluster(about, SETTINGS)
    assert made["metadata"] == {
        "name": "demo-c",
        "namespace": "ns",
        "labels": {"team": "a", **MARKS, "ray.io/job-submission-mode": "HTTPMode"},
        "annotations": {"ray.io/ft-enabled": "true"},
        "ownerReferences": [OWNER],
    }
    assert made["spec"]["headGroupSpec"]["template"] == SPEC["headGroupSpec"]["template"]


def test_in_sidecar_mode_the_head_submits_and_ends() -> None:
    made = manifests.ray_cluster(begun("SidecarMode"), SETTINGS)
    pod = made["spec"]["headGroupSpec"]["template"]["spec"]
    ray, submitter = pod["containers"]
    assert pod["restartPolicy"] == "Never"
    assert made["metadata"]["annotations"] == {"ray.io/disable-provisioned-head-restart": "true"}
    assert (ray["name"], submitter["name"], submitter["image"]) == ("ray-head", "ray-job-submitter", "ray:1")
    assert "http://127.0.0.1:8265" in submitter["args"][0]
    assert submitter["args"][0].endswith(" ;")
    assert {"name": "RAY_DASHBOARD_ADDRESS", "value": ""} in submitter["env"]
    assert "restartPolicy" not in submitter


def test_in_sidecar_mode_the_submitter_may_be_started_again() -> None:
    settings = RaySettings(gates=Gates(sidecar_restart=True))
    pod = manifests.ray_cluster(begun("SidecarMode"), settings)["spec"]["headGroupSpec"]["template"]["spec"]
    assert pod["containers"][1]["restartPolicy"] == "OnFailure"
    assert "ray job logs" in pod["containers"][1]["args"][0]


def test_a_users_template_is_not_changed() -> None:
    about = begun("SidecarMode")
    before = bytes(msgspec.json.encode(about))
    manifests.ray_cluster(about, SETTINGS)
    assert msgspec.json.encode(about) == before


def test_a_submitting_job_by_default() -> None:
    made = manifests.submitter_job(begun("K8sJobMode"), cluster(), URL, SETTINGS)
    marks = MARKS | {"app.kubernetes.io/created-by": "kuberay-operator"}
    assert made["metadata"] == {"name": "demo", "namespace": "ns", "labels": marks, "ownerReferences": [OWNER]}
    assert made["spec"]["backoffLimit"] == 2
    assert made["spec"]["template"]["metadata"]["labels"] == marks
    pod = made["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["restartPolicy"] == "Never"
    assert container["image"] == "ray:1"
    assert container["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m", "memory": "200Mi"},
    }
    assert container["env"] == [
        {"name": "PYTHONUNBUFFERED", "value": "1"},
        {"name": "RAY_DASHBOARD_ADDRESS", "value": URL},
        {"name": "RAY_JOB_SUBMISSION_ID", "value": "demo-1"},
    ]


def test_a_submitting_job_of_the_users() -> None:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "restartPolicy": "OnFailure",
            "containers": [
                {"name": "mine", "image": "i", "command": ["/submitter"], "env": [{"name": "X"}]},
                {"name": "b"},
            ],
        },
    }
    about = begun("K8sJobMode", submitterPodTemplate=template, submitterConfig={"backoffLimit": 0})
    made = manifests.submitter_job(about, cluster(), URL, SETTINGS)
    first, second = made["spec"]["template"]["spec"]["containers"]
    assert made["spec"]["backoffLimit"] == 0
    assert made["spec"]["template"]["metadata"]["labels"]["a"] == "b"
    assert (first["command"], "args" in first, second) == (["/submitter"], False, {"name": "b"})
    assert names(first) == ["X", "PYTHONUNBUFFERED", "RAY_DASHBOARD_ADDRESS", "RAY_JOB_SUBMISSION_ID"]


@pytest.mark.parametrize(
    ("options", "variables", "mounts"),
    [
        pytest.param({"mode": "disabled"}, [], 0, id="no token"),
        pytest.param({"mode": "token"}, ["RAY_AUTH_MODE", "RAY_AUTH_TOKEN"], 0, id="a token from the Secret"),
        pytest.param(
            {"mode": "token", "enableK8sTokenAuth": True},
            ["RAY_AUTH_MODE", "RAY_ENABLE_K8S_TOKEN_AUTH"],
            1,
            id="a token of Kubernetes",
        ),
    ],
)
def test_a_submitter_proves_who_it_is(options: dict[str, Any], variables: list[str], mounts: int) -> None:
    made = manifests.submitter_job(begun("K8sJobMode"), with_auth(**options), URL, SETTINGS)
    pod = made["spec"]["template"]["spec"]
    assert names(pod["containers"][0])[3:] == variables
    assert len(pod.get("volumes", ())) == len(pod["containers"][0].get("volumeMounts", ())) == mounts


def test_the_secret_of_the_users_is_named() -> None:
    made = manifests.submitter_job(begun("K8sJobMode"), with_auth(mode="token", secretName="s"), URL, SETTINGS)
    token = made["spec"]["template"]["spec"]["containers"][0]["env"][-1]
    assert token["valueFrom"]["secretKeyRef"] == {"name": "s", "key": "auth_token"}


def test_what_is_submitted_over_http() -> None:
    about = begun(
        entrypoint=" run ",
        runtimeEnvYAML="config: {setup_timeout_seconds: 300}",
        metadata={"a": "b"},
        entrypointNumCpus=2,
        entrypointResources='{"x": 1}',
    )
    asked = manifests.http_submission(about, cluster())
    assert (asked.job_id, asked.entrypoint, asked.cluster_uid) == ("demo-1", " run ", "cluster-uid")
    assert asked.runtime_env == {"config": {"setup_timeout_seconds": 300}}
    assert isinstance(asked.runtime_env["config"]["setup_timeout_seconds"], int)
    assert (asked.metadata, asked.entrypoint_num_cpus, asked.entrypoint_resources) == ({"a": "b"}, 2, {"x": 1})


def test_resources_that_cannot_be_read_are_named() -> None:
    with pytest.raises(Unbuildable, match=r"spec\.entrypointResources"):
        manifests.http_submission(begun(entrypointResources="{"), cluster())


def test_the_job_of_a_tick() -> None:
    body = {
        "metadata": {"name": "nightly", "namespace": "ns", "uid": "cron-uid", "labels": {"not": "copied"}},
        "spec": {"schedule": "@daily", "jobTemplate": {"entrypoint": "run", "rayClusterSpec": SPEC}},
    }
    cron = msgspec.json.decode(msgspec.json.encode(body), type=RayCronJob)
    made = manifests.cron_child(cron, datetime(2026, 1, 2, tzinfo=UTC))
    assert made["metadata"]["name"] == f"nightly-{int(datetime(2026, 1, 2, tzinfo=UTC).timestamp()) // 60}"
    assert made["metadata"]["labels"] == {"ray.io/cronjob-name": "nightly"}
    assert made["metadata"]["annotations"] == {"ray.io/cronjob-scheduled-timestamp": "2026-01-02T00:00:00Z"}
    assert made["metadata"]["ownerReferences"][0]["uid"] == "cron-uid"
    assert made["spec"]["entrypoint"] == "run"


VOLCANO = RaySettings(batch_scheduler="volcano")
GANG_SPEC = {
    **SPEC,
    "workerGroupSpecs": [
        {
            "groupName": "w",
            "replicas": 2,
            "template": {"spec": {"containers": [{"name": "r", "resources": {"requests": {"cpu": "1"}}}]}},
        }
    ],
}


@pytest.mark.parametrize(
    ("mode", "amounts"),
    [
        pytest.param("K8sJobMode", {"cpu": "2500m", "memory": "200Mi"}, id="with the submitter's pod"),
        pytest.param("SidecarMode", {"cpu": "2500m", "memory": "200Mi"}, id="with the submitter beside the head"),
        pytest.param("HTTPMode", {"cpu": "2"}, id="without a submitter"),
    ],
)
def test_the_gang_of_a_job(mode: str, amounts: dict[str, str]) -> None:
    made = manifests.pod_group(job(mode, rayClusterSpec=GANG_SPEC), None, ending=False)
    assert made["metadata"]["name"] == "ray-demo-pg"
    assert made["metadata"]["ownerReferences"][0]["uid"] == "job-uid"
    assert (made["spec"]["minMember"], made["spec"]["minResources"]) == (3, amounts)


def test_a_gang_that_is_over_counts_what_is_left() -> None:
    about = job("K8sJobMode", rayClusterSpec=GANG_SPEC)
    alive = manifests.pod_group(about, cluster(), ending=True)["spec"]
    gone = manifests.pod_group(about, None, ending=True)["spec"]
    going = manifests.pod_group(about, cluster(deletionTimestamp=NOW), ending=True)["spec"]
    assert (alive["minMember"], gone["minMember"], going["minMember"]) == (1, 0, 0)
    assert gone["minResources"] == {}


@pytest.mark.parametrize(("mode", "has_mark"), [("K8sJobMode", True), ("HTTPMode", False)])
def test_the_scheduler_marks_the_cluster_of_a_submitting_job_only(mode: str, has_mark: bool) -> None:
    about = job(mode, meta={"labels": {"volcano.sh/queue-name": "q"}})
    annotations = manifests.ray_cluster(about, VOLCANO)["metadata"]["annotations"]
    assert ("scheduling.k8s.io/group-name" in annotations) is has_mark


def test_the_scheduler_marks_the_submitter() -> None:
    pod = manifests.submitter_job(job("K8sJobMode"), cluster(), URL, VOLCANO)["spec"]["template"]
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["metadata"]["annotations"]["volcano.sh/task-spec"] == "submittergroup"
