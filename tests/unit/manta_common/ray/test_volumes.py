"""Shared memory and logs."""

from typing import Any

import pytest

from tests.unit.manta_common.ray.clusters import ALL_GATES, GROUP, HEAD, RAY, container, head, mounts, ray, worker

AUTOSCALING = {"spec.enableInTreeAutoscaling": True}
COLLECTING = {"spec.historyServerOptions": {"collectorOptions": {"image": "c"}}}
LOGS = {"name": "ray-logs", "emptyDir": {}}


@pytest.mark.parametrize(
    ("changes", "medium"),
    [
        pytest.param({}, {"medium": "Memory"}, id="no memory given, no limit"),
        pytest.param(
            {f"{GROUP}.{RAY}.resources": {"requests": {"memory": "1Gi"}}},
            {"medium": "Memory", "sizeLimit": "1Gi"},
            id="as much as is requested",
        ),
        pytest.param(
            {f"{GROUP}.{RAY}.resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}},
            {"medium": "Memory", "sizeLimit": "2Gi"},
            id="as much as the limit allows",
        ),
    ],
)
def test_shared_memory(changes: dict[str, Any], medium: dict[str, str]) -> None:
    made = worker(changes)
    assert made["spec"]["volumes"] == [{"name": "shared-mem", "emptyDir": medium}]
    assert mounts(ray(made)) == {"/dev/shm": "shared-mem"}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({f"{GROUP}.rayStartParams": {"plasma-directory": "/x"}}, id="the object store is elsewhere"),
        pytest.param(
            {f"{GROUP}.{RAY}.volumeMounts": [{"name": "mine", "mountPath": "/dev/shm"}]}, id="the user's mount"
        ),
    ],
)
def test_no_shared_memory_where_it_is_not_wanted(changes: dict[str, Any]) -> None:
    made = worker(changes)
    assert "volumes" not in made["spec"]
    assert "shared-mem" not in mounts(ray(made)).values()


def test_a_volume_of_the_same_name_is_used_as_it_is() -> None:
    mine = {"name": "shared-mem", "emptyDir": {"sizeLimit": "1Mi"}}
    made = worker({f"{GROUP}.template.spec.volumes": [mine]})
    assert made["spec"]["volumes"] == [mine]
    assert mounts(ray(made)) == {"/dev/shm": "shared-mem"}


def test_the_autoscaler_sees_the_head_s_logs() -> None:
    made = head(AUTOSCALING)
    assert LOGS in made["spec"]["volumes"]
    assert mounts(ray(made))["/tmp/ray"] == mounts(container(made, "autoscaler"))["/tmp/ray"] == "ray-logs"
    assert LOGS not in worker(AUTOSCALING)["spec"]["volumes"]


def test_logs_are_mounted_where_the_user_has_mounted_nothing() -> None:
    mine = [{"name": "mine", "mountPath": "/tmp/ray"}]
    made = head(AUTOSCALING | {f"{HEAD}.{RAY}.volumeMounts": mine})
    assert mounts(ray(made))["/tmp/ray"] == "mine"
    assert mounts(container(made, "autoscaler"))["/tmp/ray"] == "ray-logs"
    both = head(AUTOSCALING | {f"{HEAD}.{RAY}.volumeMounts": mine, "spec.autoscalerOptions": {"volumeMounts": mine}})
    assert LOGS not in both["spec"]["volumes"]


def test_the_collector_sees_the_logs_of_every_pod() -> None:
    for made in (head(COLLECTING | AUTOSCALING, ALL_GATES), worker(COLLECTING, ALL_GATES)):
        assert made["spec"]["volumes"].count(LOGS) == 1
        assert mounts(ray(made))["/tmp/ray"] == mounts(container(made, "ray-history-collector"))["/tmp/ray"]
