"""Changes of what pods and Services are made from, with which users come into what is Manta's own."""

from typing import Any

from tests.examples.example import Json
from tests.examples.manifests import (
    HEAD,
    head,
    head_container,
    head_pod,
    worker,
    worker_container,
)

OWN_LABELS = (
    {"ray.io/cluster": "other"},
    {"ray.io/node-type": "worker"},
    {"ray.io/node-type": "driver"},
    {"ray.io/group": "other"},
    {"ray.io/is-ray-node": "no"},
    {"ray.io/identifier": "mine"},
    {"ray.io/serve": "maybe"},
    {"app.kubernetes.io/created-by": "me"},
    {"ray.io/worker-group-replica-index": "7"},
    {"ray.io/worker-group-replica-name": "mine"},
)
START_PARAMS = (
    {"port": "0"},
    {"port": "a"},
    {"port": "99999"},
    {"dashboard-port": "a"},
    {"dashboard-port": "70000"},
    {"dashboard-agent-listen-port": "-1"},
    {"metrics-export-port": ""},
    {"ray-client-server-port": "10001x"},
    {"num-cpus": "many"},
    {"num-gpus": "-1"},
    {"memory": "1Gi"},
    {"memory": "1e30"},
    {"resources": "a"},
    {"resources": '"{\\"TPU\\": 4}"'},
    {"object-store-memory": "x"},
    {"block": "false"},
    {"no-monitor": ""},
    {"redis-password": "a"},
    {"address": "elsewhere"},
    {"": "a"},
)
CONTAINERS: tuple[Json, ...] = (
    {"ports": [{"containerPort": 8265, "name": "dashboard"}]},
    {"ports": [{"containerPort": 1, "name": "dashboard"}, {"containerPort": 2, "name": "gcs-server"}]},
    {"ports": [{"containerPort": 6379}, {"containerPort": 6379}]},
    {"ports": [{"containerPort": 0, "name": "x"}]},
    {"ports": [{"containerPort": 70000, "name": "serve"}]},
    {"env": [{"name": "RAY_ADDRESS", "value": "x"}, {"name": "RAY_ADDRESS", "value": "y"}]},
    {"env": [{"name": "RAY_REDIS_ADDRESS", "value": "redis:6379"}]},
    {"env": [{"name": "RAY_CLUSTER_NAME", "value": "x"}]},
    {"env": [{"name": "RAY_AUTH_MODE", "value": "token"}]},
    {"env": [{"name": "RAY_ENABLE_AUTOSCALER_V2", "value": "1"}]},
    {"env": [{"name": "RAY_enable_autoscaler_v2", "value": "1"}]},
    {"env": [{"name": "A", "valueFrom": {}}]},
    {"env": [{"name": "", "value": "x"}]},
    {"command": [], "args": [""]},
    {"command": ["a", "b"], "args": ["c"]},
    {"resources": {"limits": {"cpu": 2, "memory": 1}}},
    {"resources": {"limits": {"cpu": "0"}, "requests": {"cpu": "1"}}},
    {"resources": {"limits": {"nvidia.com/gpu": "1", "google.com/tpu": "4", "aws.amazon.com/neuroncore": "2"}}},
    {"resources": {"limits": {"cpu": "-1"}}},
    {"resources": {"limits": {"cpu": "1n", "memory": "1e18"}}},
    {"resources": {"limits": {"": "1"}}},
    {"resources": {"claims": [{"name": "a"}]}},
    {"livenessProbe": {}, "readinessProbe": {"exec": {"command": []}}},
    {"lifecycle": {"preStop": {}}},
    {"volumeMounts": [{"name": "ray-logs", "mountPath": "/tmp/ray"}]},
    {"name": "autoscaler"},
    {"name": ""},
    {"name": "A" * 70},
    {"securityContext": {"runAsUser": -1}},
)
PODS: tuple[Json, ...] = (
    {"volumes": [{"name": "ray-logs"}, {"name": "ray-logs"}]},
    {"volumes": [{"name": "shared-mem", "emptyDir": {}}]},
    {"initContainers": [{"name": "wait-gcs-ready", "image": "a"}]},
    {"initContainers": [{"name": "x"}]},
    {"hostNetwork": True},
    {"serviceAccountName": "nobody"},
    {"nodeSelector": {"a b": "c"}},
    {"tolerations": [{"operator": "Magic"}]},
    {"terminationGracePeriodSeconds": -1},
    {"activeDeadlineSeconds": 0},
    {"schedulerName": "mine"},
    {"priorityClassName": "high"},
    {"nodeName": "node-1"},
    {"restartPolicy": "OnFailure"},
    {"hostname": "a.b", "subdomain": "-"},
    {"containers": [{"name": "first", "image": "a"}, HEAD]},
    {"schedulingGates": [{"name": "wait"}]},
    {"resourceClaims": [{"name": "a"}]},
    {"overhead": {"cpu": "1"}},
    {"imagePullSecrets": [{}]},
)
METADATA: tuple[Json, ...] = (
    *({"labels": each} for each in OWN_LABELS),
    {"labels": {"a": "b" * 70}},
    {"labels": {"-": ""}},
    {"annotations": {"ray.io/ft-enabled": "true"}},
    {"annotations": {"ray.io/overwrite-container-cmd": "true"}},
    {"annotations": {"ray.io/external-storage-namespace": "x"}},
    {"annotations": {"a": "b" * 300_000}},
    {"name": "mine", "namespace": "elsewhere"},
)
HEAD_SERVICES: tuple[Json, ...] = (
    *({"metadata": {"labels": each}} for each in OWN_LABELS),
    {"metadata": {"name": "mine"}},
    {"metadata": {"name": "A_b", "namespace": "elsewhere"}},
    {"metadata": {"annotations": {"a": "b"}}},
    {"spec": {"clusterIP": "None"}},
    {"spec": {"clusterIP": "10.0.0.1"}},
    {"spec": {"type": "ExternalName", "externalName": "x"}},
    {"spec": {"type": "NodePort", "ports": [{"name": "dashboard", "port": 8265, "nodePort": 1}]}},
    {"spec": {"type": "Magic"}},
    {"spec": {"selector": {}}},
    {"spec": {"selector": {"a": "b"}}},
    {"spec": {"ports": [{"port": 1}, {"port": 2}]}},
    {"spec": {"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 1, "protocol": "UDP"}]}},
    {"spec": {"publishNotReadyAddresses": False}},
    {"spec": {"ipFamilyPolicy": "Magic", "sessionAffinity": "x"}},
)
AUTOSCALERS: tuple[Json, ...] = (
    {"idleTimeoutSeconds": -1},
    {"resources": {"limits": {"cpu": "a"}}},
    {"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}},
    {"image": ""},
    {"env": [{"name": "RAY_ADDRESS"}]},
    {"volumeMounts": [{"name": "x", "mountPath": "/x"}]},
    {"imagePullPolicy": "Magic"},
    {"upscalingMode": "Conservative", "version": "v1"},
)


def patches() -> list[tuple[str, Json]]:
    """All of them as patches of a cluster's spec, with what is new in words."""
    found: list[tuple[str, Json]] = []
    for part, patch in (("head", head), ("worker", worker)):
        found += [_named(f"{part}: metadata", each, patch(template={"metadata": each})) for each in METADATA]
        found += [_named(f"{part}: rayStartParams", each, patch(rayStartParams=each)) for each in START_PARAMS]
    found += [_named("head: container", each, head_container(**each)) for each in CONTAINERS]
    found += [_named("worker: container", each, worker_container(**each)) for each in CONTAINERS]
    found += [_named("head: pod", each, head_pod(**each)) for each in PODS]
    found += [_named("worker: pod", each, worker(template={"spec": each})) for each in PODS]
    found += [_named("head Service", each, head(headService=each)) for each in HEAD_SERVICES]
    return found + [_named("autoscaler", each, _autoscaled(each)) for each in AUTOSCALERS]


def _autoscaled(options: Json) -> Json:
    return {"enableInTreeAutoscaling": True, "autoscalerOptions": options}


def _named(where: str, what: Any, patch: Json) -> tuple[str, Json]:
    text = str(what)
    return f"{where} {text if len(text) < 120 else text[:110]}", patch
