"""Clusters to build from: a small one, changed at the places that a test is about."""

import copy
from typing import Any

import msgspec

from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayCluster
from manta_common.ray.names import Place
from manta_common.ray.pods import head_pod, worker_pod
from manta_common.ray.settings import RaySettings

SETTINGS = RaySettings()
ALL_GATES = RaySettings(gates=Gates.parse("AllAlpha=true,KubernetesWAS=false"))
ADDRESS = "demo-head-svc.team.svc.cluster.local"

HEAD = "spec.headGroupSpec"
GROUP = "spec.workerGroupSpecs.0"
RAY = "template.spec.containers.0"

_SMALL: dict[str, Any] = {
    "metadata": {"name": "demo", "namespace": "team", "uid": "12345678-uid", "labels": {}, "annotations": {}},
    "spec": {
        "headGroupSpec": {
            "template": {"metadata": {}, "spec": {"containers": [{"name": "ray-head", "image": "ray:1"}]}}
        },
        "workerGroupSpecs": [
            {
                "groupName": "small",
                "replicas": 1,
                "minReplicas": 0,
                "maxReplicas": 3,
                "template": {"metadata": {}, "spec": {"containers": [{"name": "ray-worker", "image": "ray:1"}]}},
            }
        ],
    },
}


def cluster(changes: dict[str, Any] | None = None) -> RayCluster:
    """The small cluster with values put at paths such as `spec.headGroupSpec.template.spec.containers.0.env`."""
    document = copy.deepcopy(_SMALL)
    for path, value in (changes or {}).items():
        *way, last = path.split(".")
        place: Any = document
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
        place[int(last) if isinstance(place, list) else last] = value
    return msgspec.json.decode(msgspec.json.encode(document), type=RayCluster)


def head(changes: dict[str, Any] | None = None, settings: RaySettings = SETTINGS) -> dict[str, Any]:
    """The head pod of such a cluster."""
    return head_pod(cluster(changes), 0, settings)


def worker(changes: dict[str, Any] | None = None, settings: RaySettings = SETTINGS) -> dict[str, Any]:
    """The first worker pod of such a cluster."""
    made = cluster(changes)
    return worker_pod(made, made.spec.worker_group_specs[0], Place(0), settings)


def ray(pod: dict[str, Any]) -> dict[str, Any]:
    """The container that runs Ray."""
    found: dict[str, Any] = pod["spec"]["containers"][0]
    return found


def container(pod: dict[str, Any], name: str) -> dict[str, Any]:
    """The container or init container of that name."""
    everything = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]
    return next(one for one in everything if one["name"] == name)


def env_names(container: dict[str, Any]) -> list[str]:
    """The names of a container's variables, in order."""
    return [variable["name"] for variable in container.get("env", [])]


def env_values(container: dict[str, Any]) -> dict[str, Any]:
    """The variables of a container; of two with one name the last counts, as in Kubernetes."""
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container.get("env", [])}


def mounts(container: dict[str, Any]) -> dict[str, str]:
    """Which volume is mounted where."""
    return {mount["mountPath"]: mount["name"] for mount in container.get("volumeMounts", [])}
