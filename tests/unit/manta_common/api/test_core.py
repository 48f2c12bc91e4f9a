"""The trimmed views read what the API server sends, whatever else is in it."""

import json
from typing import Any

import msgspec
import pytest

from manta_common.api.core import EndpointSlice, Event, Ingress, Job, Pod, Secret, Service, Status, WatchEvent
from manta_common.api.rbac import Role, RoleBinding
from manta_common.api.templates import env_vars, pod_template, volume_mounts

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "head",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "managedFields": [{"manager": "x"}],
        "ownerReferences": [{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "c", "uid": "o"}],
    },
    "spec": {"nodeName": "n1", "containers": [{"name": "ray", "image": "i", "env": [{"name": "A"}]}]},
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "conditions": [{"type": "Ready", "status": "False", "lastProbeTime": None, "reason": "ContainersNotReady"}],
        "containerStatuses": [
            {
                "name": "ray",
                "ready": False,
                "restartCount": 2,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "containerID": "x"}},
            }
        ],
    },
}


def test_a_watch_event_of_a_pod_is_read() -> None:
    text = json.dumps({"type": "MODIFIED", "object": POD})
    pod = msgspec.json.decode(text, type=WatchEvent[Pod]).object
    assert (pod.metadata.resource_version, pod.spec.node_name, pod.status.pod_ip) == ("7", "n1", "10.0.0.1")
    ray = pod.status.container_statuses[0]
    assert ray.state.waiting is not None
    assert ray.state.waiting.reason == "CrashLoopBackOff"
    assert ray.last_state.terminated is not None
    assert ray.last_state.terminated.exit_code == 137
    assert msgspec.json.decode(msgspec.json.encode(pod), type=Pod) == pod


def test_the_end_of_a_watch_is_read() -> None:
    text = b'{"type":"ERROR","object":{"kind":"Status","metadata":{},"status":"Failure","reason":"Expired","code":410}}'
    assert msgspec.json.decode(text, type=WatchEvent[Status]).object == Status(code=410, reason="Expired")


@pytest.mark.parametrize("target", [8265, "dashboard"])
def test_a_port_leads_to_a_number_or_a_name(target: int | str) -> None:
    text = json.dumps({"spec": {"clusterIP": "None", "ports": [{"port": 80, "targetPort": target}]}})
    service = msgspec.json.decode(text, type=Service)
    assert service.spec.cluster_ip == "None"
    assert service.spec.ports[0].target_port == target


def test_a_secret_never_shows_its_contents() -> None:
    secret = msgspec.json.decode(
        b'{"metadata":{"name":"s","namespace":"n"},"data":{"auth_token":"aHVzaA=="}}', type=Secret
    )
    assert secret.data == {"auth_token": b"hush"}
    assert repr(secret) == "Secret(n/s, keys=['auth_token'])"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Job, {"status": {"conditions": [{"type": "Complete", "status": "True"}], "failed": 1}}),
        (Ingress, {"spec": {"rules": [{"host": "h"}]}}),
        (Role, {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        (RoleBinding, {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "s"}]}),
        (Event, {"reason": "CreatedHeadPod", "regarding": {"kind": "RayCluster", "uid": "u"}}),
    ],
)
def test_other_kinds_survive_a_round(kind: type, value: dict[str, Any]) -> None:
    found: Any = msgspec.json.decode(json.dumps(value), type=kind)
    assert json.loads(msgspec.json.encode(found)).items() >= value.items()


def test_a_template_is_read_only_as_far_as_needed() -> None:
    container = {
        "name": "ray",
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
    }
    spec = {"restartPolicy": "Never", "containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]}
    found = pod_template(msgspec.Raw(json.dumps({"spec": spec}).encode()))
    assert found.spec.restart_policy == "Never"
    assert found.spec.containers[0].resources.limits == {"cpu": 1, "memory": "1Gi"}
    assert bytes(found.spec.containers[0].env[0].value_from) == b'{"fieldRef": {"fieldPath": "x"}}'  # type: ignore[arg-type]
    assert found.spec.volumes[0].name == "v"
    assert pod_template(msgspec.Raw(b"{}")).spec.containers == ()


def test_options_are_read_item_by_item() -> None:
    assert [one.name for one in env_vars((msgspec.Raw(b'{"name":"A"}'), msgspec.Raw(b'{"name":"B","value":"1"}')))] == [
        "A",
        "B",
    ]
    assert volume_mounts((msgspec.Raw(b'{"name":"v","mountPath":"/v","new":1}'),))[0].mount_path == "/v"


def test_a_slice_without_endpoints_is_written_with_null() -> None:
    found = msgspec.json.decode(b'{"metadata": {"name": "a"}, "endpoints": null}', type=EndpointSlice)
    assert not found.endpoints
