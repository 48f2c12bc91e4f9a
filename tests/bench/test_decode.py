"""How fast a watch event of a pod is read, and how much of it is held, side by side with `json.loads`."""

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from manta_common.api.core import Pod, WatchEvent

SIZE = 8192
EVENTS_PER_SECOND, BYTES_PER_POD = 50_000, 6 * 1024
ROUNDS, BATCH, HELD = 15, 400, 2_000
LABELS = {
    "app.kubernetes.io/created-by": "kuberay-operator",
    "app.kubernetes.io/name": "kuberay",
    "ray.io/cluster": "bench",
    "ray.io/group": "workers",
    "ray.io/identifier": "bench-worker",
    "ray.io/is-ray-node": "yes",
    "ray.io/node-type": "worker",
    "ray.io/worker-group-replica-index": "17",
}
TIME = "2026-01-02T03:04:05Z"


def container(name: str, variables: int) -> dict[str, Any]:
    return {
        "name": name,
        "image": "registry.example.com/team/ray:2.60.0",
        "command": ["/bin/bash", "-c", "--"],
        "args": ["ulimit -n 65536; ray start --address=bench-head-svc.ns.svc.cluster.local:6379 --block"],
        "env": [{"name": f"VARIABLE_{number}", "value": "some value"} for number in range(variables)],
        "ports": [{"name": "metrics", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {"limits": {"cpu": "2", "memory": "8Gi"}, "requests": {"cpu": "2", "memory": "8Gi"}},
        "volumeMounts": [
            {"name": "shared-mem", "mountPath": "/dev/shm"},
            {"name": "ray-logs", "mountPath": "/tmp/ray"},
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def container_status(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "state": {"running": {"startedAt": TIME}},
        "lastState": {},
        "ready": True,
        "started": True,
        "restartCount": 0,
        "image": "registry.example.com/team/ray:2.60.0",
        "imageID": "registry.example.com/team/ray@sha256:" + "0" * 64,
        "containerID": "containerd://" + "1" * 64,
    }


OWNER = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "name": "bench",
    "uid": "00000000-0000-0000-0000-000000000000",
    "controller": True,
    "blockOwnerDeletion": True,
}


def pod(number: int) -> dict[str, Any]:
    """A worker pod as an API server sends it."""
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"bench-workers-worker-{number:05}",
            "generateName": "bench-workers-worker-",
            "namespace": "bench",
            "uid": f"00000000-0000-0000-0000-{number:012}",
            "resourceVersion": str(10_000_000 + number),
            "generation": 1,
            "creationTimestamp": TIME,
            "labels": LABELS,
            "annotations": {"ray.io/ft-enabled": "false", "ray.io/kuberay-version": "v1.7.0"},
            "ownerReferences": [OWNER],
            "managedFields": [{"manager": "kuberay-operator", "operation": "Update", "time": TIME, "fieldsV1": {}}],
        },
        "spec": {
            "initContainers": [container("wait-gcs-ready", 8)],
            "containers": [container("ray-worker", 16), container("sidecar", 4)],
            "nodeName": f"node-{number % 40}",
            "restartPolicy": "Never",
            "schedulerName": "default-scheduler",
            "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}] * 2,
            "volumes": [{"name": "shared-mem", "emptyDir": {"medium": "Memory"}}, {"name": "ray-logs", "emptyDir": {}}],
        },
        "status": {
            "phase": "Running",
            "podIP": "10.88.3.7",
            "podIPs": [{"ip": "10.88.3.7"}],
            "hostIP": "10.0.0.5",
            "startTime": TIME,
            "qosClass": "Guaranteed",
            "conditions": [
                {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": TIME} for kind in kinds
            ],
            "initContainerStatuses": [container_status("wait-gcs-ready")],
            "containerStatuses": [container_status("ray-worker"), container_status("sidecar")],
        },
    }


def event(number: int) -> bytes:
    """A line of a watch, brought to its size by managed fields, which is what fills real ones too."""
    found = pod(number)
    line = json.dumps({"type": "MODIFIED", "object": found}, separators=(",", ":"))
    fields, entry = found["metadata"]["managedFields"][0]["fieldsV1"], "f:status-{:03}"
    missing = (SIZE - len(line)) // len(f'"{entry.format(0)}":{{".":{{}}}},')
    fields.update({entry.format(place): {".": {}} for place in range(missing)})
    return json.dumps({"type": "MODIFIED", "object": found}, separators=(",", ":")).encode()


def rate(read: Callable[[bytes], object], lines: list[bytes]) -> float:
    """Events read per second of this process' own time, in the best of some rounds."""
    best = 0.0
    for _ in range(ROUNDS):
        started = time.process_time()
        for line in lines:
            read(line)
        best = max(best, len(lines) / (time.process_time() - started))
    return best


def held(read: Callable[[bytes], object]) -> float:
    """Bytes that one pod keeps in memory once it was read."""
    lines = [event(number) for number in range(HELD)]
    read(lines[0])
    gc.collect()
    tracemalloc.start()
    try:
        kept = [read(line) for line in lines]
        return tracemalloc.get_traced_memory()[0] / len(kept)
    finally:
        tracemalloc.stop()


def test_a_watch_event_of_a_pod_is_read_fast_and_held_small(capsys: pytest.CaptureFixture[str]) -> None:
    decoder = msgspec.json.Decoder(WatchEvent[Pod])
    lines = [event(number) for number in range(BATCH)]
    ours, plain = rate(decoder.decode, lines), rate(json.loads, lines)
    small, large = held(lambda line: decoder.decode(line).object), held(lambda line: json.loads(line)["object"])
    with capsys.disabled():
        sys.stdout.write(
            f"\npod of {len(lines[0])} bytes: {ours:,.0f} events/s, json.loads {plain:,.0f}: {ours / plain:.1f} times\n"
            f"held per pod: {small:,.0f} bytes, json.loads {large:,.0f}: {large / small:.1f} times\n"
        )
    assert abs(len(lines[0]) - SIZE) < 64
    assert ours >= EVENTS_PER_SECOND
    assert small <= BYTES_PER_POD
