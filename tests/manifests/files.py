"""Our own manifests, and a status for each kind with every field set."""

import pathlib
from typing import Any

import yaml

HERE = pathlib.Path(__file__).parent
TIME = "2026-01-02T03:04:05Z"
CONDITION = {
    "type": "Ready",
    "status": "True",
    "reason": "AllIsWell",
    "message": "",
    "lastTransitionTime": TIME,
    "observedGeneration": 3,
}
CLUSTER_STATUS = {
    "state": "ready",
    "desiredCPU": "1500m",
    "desiredMemory": "3Gi",
    "desiredGPU": "0",
    "desiredTPU": 4,
    "lastUpdateTime": TIME,
    "stateTransitionTimes": {"ready": TIME},
    "endpoints": {"dashboard": "8265", "gcs": "6379"},
    "head": {"podIP": "10.0.0.1", "serviceIP": "10.1.0.1", "podName": "head", "serviceName": "head-svc"},
    "reason": "because",
    "conditions": [CONDITION],
    "readyWorkerReplicas": 1,
    "availableWorkerReplicas": 2,
    "desiredWorkerReplicas": 3,
    "minWorkerReplicas": 4,
    "maxWorkerReplicas": 2147483647,
    "observedGeneration": 5,
}
SERVING = {
    "applicationStatuses": {
        "fruit": {
            "status": "RUNNING",
            "message": "fine",
            "serveDeploymentStatuses": {"apple": {"status": "HEALTHY", "message": "crisp"}},
        }
    },
    "targetCapacity": 0,
    "trafficRoutedPercent": 100,
    "lastTrafficMigratedTime": TIME,
    "rayClusterName": "plain-abcde",
    "rayClusterStatus": CLUSTER_STATUS,
}
STATUSES: dict[str, dict[str, Any]] = {
    "RayCluster": CLUSTER_STATUS,
    "RayJob": {
        "rayJobInfo": {"startTime": TIME, "endTime": TIME},
        "jobId": "tidy-1",
        "rayClusterName": "tidy-abcde",
        "dashboardURL": "tidy-head-svc.ns.svc.cluster.local:8265",
        "jobStatus": "SUCCEEDED",
        "jobDeploymentStatus": "Complete",
        "reason": "AppFailed",
        "message": "done",
        "startTime": TIME,
        "endTime": TIME,
        "succeeded": 1,
        "failed": 0,
        "rayClusterStatus": CLUSTER_STATUS,
        "jobStatusCheckFailureStartTime": TIME,
        "observedGeneration": 2,
        "conditions": [CONDITION],
    },
    "RayService": {
        "conditions": [CONDITION],
        "lastUpdateTime": TIME,
        "serviceStatus": "Running",
        "activeServiceStatus": SERVING,
        "pendingServiceStatus": SERVING,
        "numServeEndpoints": 2,
        "observedGeneration": 4,
    },
    "RayCronJob": {"lastScheduleTime": TIME},
}


def manifests() -> dict[str, dict[str, Any]]:
    """Every manifest in this folder, by the name of its file."""
    return {path.stem: yaml.safe_load(path.read_text()) for path in sorted(HERE.glob("*.yaml"))}
