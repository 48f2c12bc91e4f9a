"""What `kubectl get` shows of each kind."""

from typing import Any, Final

Column = dict[str, Any]


def _column(name: str, kind: str, path: str) -> Column:
    return {"name": name, "type": kind, "jsonPath": path}


def _wide(name: str, path: str) -> Column:
    return _column(name, "string", path) | {"priority": 1}


AGE: Final = _column("age", "date", ".metadata.creationTimestamp")

COLUMNS: Final[dict[tuple[str, str], list[Column]]] = {
    ("RayCluster", "v1"): [
        _column("desired workers", "integer", ".status.desiredWorkerReplicas"),
        _column("available workers", "integer", ".status.availableWorkerReplicas"),
        _column("cpus", "string", ".status.desiredCPU"),
        _column("memory", "string", ".status.desiredMemory"),
        _column("gpus", "string", ".status.desiredGPU"),
        _wide("tpus", ".status.desiredTPU"),
        _column("status", "string", ".status.state"),
        AGE,
        _wide("head pod IP", ".status.head.podIP"),
        _wide("head service IP", ".status.head.serviceIP"),
    ],
    ("RayJob", "v1"): [
        _column("job status", "string", ".status.jobStatus"),
        _column("deployment status", "string", ".status.jobDeploymentStatus"),
        _column("ray cluster name", "string", ".status.rayClusterName"),
        _column("start time", "string", ".status.startTime"),
        _column("end time", "string", ".status.endTime"),
        AGE,
    ],
    ("RayService", "v1"): [
        _column("service status", "string", ".status.serviceStatus"),
        _column("num serve endpoints", "string", ".status.numServeEndpoints"),
    ],
    ("RayCronJob", "v1"): [
        _column("schedule", "string", ".spec.schedule"),
        _column("timezone", "string", ".spec.timeZone"),
        _column("last schedule", "date", ".status.lastScheduleTime"),
        AGE,
        _column("suspend", "boolean", ".spec.suspend"),
    ],
}
COLUMNS["RayCluster", "v1alpha1"] = COLUMNS["RayCluster", "v1"]
