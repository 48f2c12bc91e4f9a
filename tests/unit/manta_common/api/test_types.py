"""Our types keep what they read, write as Go does, and refuse what the schema refuses."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from manta_common.api.meta import ObjectMeta
from manta_common.api.raycluster import RayCluster, RayClusterSpec, RayClusterStatus
from manta_common.api.raycronjob import RayCronJob
from manta_common.api.raygroups import HeadGroupSpec, WorkerGroupSpec
from manta_common.api.rayjob import RayJob, RayJobSpec, RayJobStatus
from manta_common.api.rayoptions import AuthOptions, GcsEmbeddedStorage, GcsFaultToleranceOptions, NetworkPolicyConfig
from manta_common.api.rayservice import RayService, RayServiceSpec, RayServiceStatus, RayServiceStatuses
from manta_common.api.wire import Wire
from manta_common.crd.definitions import KINDS, Kind
from tests.manifests.compare import lost
from tests.manifests.files import STATUSES, manifests
from tests.manifests.generated import any_manifest

TYPES = {kind.name: kind.type for kind in KINDS}
EMPTY_STATUS = {"desiredCPU": "0", "desiredMemory": "0", "desiredGPU": "0", "desiredTPU": "0", "head": {}}
EMPTY_CLUSTER = {"rayClusterStatus": EMPTY_STATUS}
GROUP: dict[str, Any] = {"groupName": "g", "template": {}}
HEAD: dict[str, Any] = {"headGroupSpec": {"template": {}}}


def read(kind: type, value: Any) -> Any:
    return msgspec.json.decode(json.dumps(value), type=kind)


def written(value: Wire) -> Any:
    return json.loads(msgspec.json.encode(value))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(any_manifest())
def test_what_was_read_and_written_reads_the_same(made_up: tuple[Kind, dict[str, Any]]) -> None:
    kind, manifest = made_up
    first = read(kind.type, manifest)
    assert msgspec.json.decode(msgspec.json.encode(first), type=kind.type) == first


@pytest.mark.parametrize("name", STATUSES)
def test_a_full_status_is_written_as_it_was_read(name: str) -> None:
    assert written(read(TYPES[name], {"status": STATUSES[name]}).status) == STATUSES[name]


@pytest.mark.parametrize("name", [name for name in manifests() if name not in ("cluster-nulls", "job-empty")])
def test_a_manifest_loses_nothing_but_zeros(name: str) -> None:
    manifest = manifests()[name]
    assert not list(lost(manifest["spec"], written(read(TYPES[manifest["kind"]], manifest))["spec"]))


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        pytest.param(RayClusterStatus, {}, EMPTY_STATUS, id="cluster status"),
        pytest.param(WorkerGroupSpec, GROUP, GROUP | {"scaleStrategy": {}}, id="worker group"),
        pytest.param(RayJobSpec, {"suspend": False, "ttlSecondsAfterFinished": 0}, {}, id="zeros of a job"),
        pytest.param(
            RayJobStatus,
            {"succeeded": 0, "failed": 0, "rayClusterStatus": {}},
            {"succeeded": 0, "failed": 0, "rayJobInfo": {}, **EMPTY_CLUSTER},
            id="job status",
        ),
        pytest.param(
            RayServiceStatuses,
            {},
            {"activeServiceStatus": EMPTY_CLUSTER, "pendingServiceStatus": EMPTY_CLUSTER},
            id="service status",
        ),
    ],
)
def test_go_writes_these_and_no_others(kind: type, value: Any, expected: Any) -> None:
    assert written(read(kind, value)) == expected


@pytest.mark.parametrize(
    ("kind", "name", "present"),
    [
        pytest.param(RayClusterSpec, "suspend", HEAD | {"suspend": False}, id="suspend"),
        pytest.param(RayClusterSpec, "auth_options", HEAD | {"authOptions": {}}, id="authOptions"),
        pytest.param(RayClusterSpec, "gcs_fault_tolerance_options", HEAD | {"gcsFaultToleranceOptions": {}}, id="GCS"),
        pytest.param(RayClusterSpec, "history_server_options", HEAD | {"historyServerOptions": {}}, id="history"),
        pytest.param(RayClusterSpec, "network_policy", HEAD | {"networkPolicy": {}}, id="networkPolicy"),
        pytest.param(RayClusterSpec, "tls_options", HEAD | {"tlsOptions": {}}, id="tlsOptions"),
        pytest.param(RayClusterSpec, "upgrade_strategy", HEAD | {"upgradeStrategy": {}}, id="upgradeStrategy"),
        pytest.param(AuthOptions, "mode", {"mode": "disabled"}, id="authOptions.mode"),
        pytest.param(GcsEmbeddedStorage, "storage_class_name", {"storageClassName": ""}, id="storageClassName"),
        pytest.param(HeadGroupSpec, "ingress_options", {"template": {}, "ingressOptions": {}}, id="ingressOptions"),
        pytest.param(WorkerGroupSpec, "replicas", GROUP | {"replicas": 0}, id="replicas"),
        pytest.param(
            WorkerGroupSpec, "idle_timeout_seconds", GROUP | {"idleTimeoutSeconds": 0}, id="idleTimeoutSeconds"
        ),
        pytest.param(RayJobSpec, "active_deadline_seconds", {"activeDeadlineSeconds": 0}, id="activeDeadlineSeconds"),
        pytest.param(RayJobSpec, "submitter_config", {"submitterConfig": {}}, id="submitterConfig"),
        pytest.param(
            RayServiceSpec,
            "ray_cluster_deletion_delay_seconds",
            {"rayClusterDeletionDelaySeconds": 0},
            id="rayClusterDeletionDelaySeconds",
        ),
        pytest.param(RayServiceStatus, "target_capacity", {"targetCapacity": 0}, id="targetCapacity"),
        pytest.param(
            RayServiceStatus, "traffic_routed_percent", {"trafficRoutedPercent": 0}, id="trafficRoutedPercent"
        ),
    ],
)
def test_absent_is_not_empty_and_both_survive(kind: type, name: str, present: dict[str, Any]) -> None:
    wire = next(field.encode_name for field in msgspec.structs.fields(kind) if field.name == name)
    absent = read(kind, {key: value for key, value in present.items() if key != wire})
    given = read(kind, present)
    assert getattr(absent, name) is None
    assert getattr(given, name) is not None
    assert wire not in written(absent)
    assert written(given)[wire] == present[wire]


def test_an_explicit_zero_of_hosts_is_kept() -> None:
    group = GROUP | {"numOfHosts": 0}
    assert written(read(WorkerGroupSpec, group))["numOfHosts"] == 0
    assert read(WorkerGroupSpec, GROUP).num_of_hosts == 1


@pytest.mark.parametrize("kind", [RayCluster, RayJob, RayService, RayCronJob])
def test_an_object_without_a_spec_can_be_read(kind: type) -> None:
    found = read(kind, {"metadata": {"name": "bare"}})
    assert found.metadata == ObjectMeta(name="bare")
    assert msgspec.json.decode(msgspec.json.encode(found), type=kind) == found


def test_a_service_made_through_v1alpha1_without_a_cluster_can_be_read() -> None:
    assert read(RayService, {"spec": {"serveConfigV2": "x"}}).spec.ray_cluster_config.head_group_spec.template


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param(RayClusterSpec, {}, id="no head"),
        pytest.param(HeadGroupSpec, {"rayStartParams": {}}, id="no template"),
        pytest.param(WorkerGroupSpec, {"template": {}}, id="no group name"),
        pytest.param(WorkerGroupSpec, GROUP | {"replicas": 2**31}, id="beyond int32"),
        pytest.param(AuthOptions, {"mode": ""}, id="an empty mode"),
        pytest.param(GcsFaultToleranceOptions, {"backend": "etcd"}, id="an unknown backend"),
        pytest.param(GcsEmbeddedStorage, {"size": "1GiB"}, id="not a quantity"),
        pytest.param(NetworkPolicyConfig, {"workerGroups": [{}]}, id="rules for no group"),
        pytest.param(RayJobSpec, {"preRunningDeadlineSeconds": 0}, id="a deadline of 0"),
        pytest.param(RayJobSpec, {"deletionStrategy": {"deletionRules": []}}, id="no rule at all"),
        pytest.param(RayServiceSpec, {"rayClusterDeletionDelaySeconds": -1}, id="a negative delay"),
        pytest.param(RayCronJob, {"spec": {"jobTemplate": {}, "schedule": "@daily", "timeZone": ""}}, id="no zone"),
        pytest.param(RayCronJob, {"spec": {"jobTemplate": {}, "schedule": "", "concurrencyPolicy": "x"}}, id="policy"),
        pytest.param(RayClusterStatus, {"lastUpdateTime": "2026-01-02"}, id="a day is no time"),
        pytest.param(RayClusterStatus, {"conditions": [{"type": "Ready"}]}, id="half a condition"),
    ],
)
def test_what_the_schema_refuses_is_refused(kind: type, value: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(kind, value)
