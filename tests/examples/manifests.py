"""Manifests without a fault, one of each kind, and pieces to lay over them."""

import copy
from typing import Any

from tests.examples.example import Json, merged

HEAD: Json = {"name": "ray-head", "image": "rayproject/ray:2.56.0"}
WORKER: Json = {"name": "ray-worker", "image": "rayproject/ray:2.56.0"}
GROUP: Json = {
    "groupName": "small",
    "replicas": 1,
    "minReplicas": 0,
    "maxReplicas": 5,
    "rayStartParams": {},
    "template": {"spec": {"containers": [WORKER]}},
}
CLUSTER: Json = {
    "rayVersion": "2.56.0",
    "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [HEAD]}}},
    "workerGroupSpecs": [GROUP],
}
ENTRYPOINT = "python -c 'print(1)'"


def cluster(patch: Json | None = None, *, name: str = "demo", **metadata: Any) -> Json:
    """A RayCluster with a patch to its spec."""
    return _manifest("RayCluster", merged(CLUSTER, patch or {}), name, metadata)


def job(patch: Json | None = None, *, name: str = "demo", **metadata: Any) -> Json:
    """A RayJob with a cluster of its own and a patch to its spec; a patch with a selector has no cluster."""
    patch = patch or {}
    own = {} if "clusterSelector" in patch else {"rayClusterSpec": CLUSTER}
    spec = merged({"entrypoint": ENTRYPOINT, "submissionMode": "K8sJobMode", **own}, patch)
    return _manifest("RayJob", {key: value for key, value in spec.items() if value is not None}, name, metadata)


def service(patch: Json | None = None, *, name: str = "demo", **metadata: Any) -> Json:
    """A RayService with a patch to its spec."""
    return _manifest("RayService", merged({"rayClusterConfig": CLUSTER}, patch or {}), name, metadata)


def cron_job(patch: Json | None = None, *, name: str = "demo") -> Json:
    """A RayCronJob with a patch to its spec."""
    spec = {"schedule": "0 3 * * *", "jobTemplate": job()["spec"]}
    return _manifest("RayCronJob", merged(spec, patch or {}), name, {})


def head(**fields: Any) -> Json:
    """A patch of the head group."""
    return {"headGroupSpec": fields}


def head_pod(**fields: Any) -> Json:
    """A patch of the head's pod."""
    return head(template={"spec": fields})


def head_container(**fields: Any) -> Json:
    """A patch of the head's Ray container."""
    return head_pod(containers=[HEAD | fields])


def head_env(**variables: str) -> Json:
    """A patch of the environment of the head's Ray container."""
    return head_container(env=env(**variables))


def workers(*groups: Json) -> Json:
    """Worker groups instead of the one there is, each a patch of it."""
    return {"workerGroupSpecs": [merged(GROUP, group) for group in groups]}


def worker(**fields: Any) -> Json:
    """A patch of the only worker group."""
    return workers(fields)


def worker_container(**fields: Any) -> Json:
    """A patch of the Ray container of the only worker group."""
    return worker(template={"spec": {"containers": [WORKER | fields]}})


def env(**variables: str) -> list[Json]:
    """A container's environment."""
    return [{"name": name, "value": value} for name, value in variables.items()]


def mount(name: str, path: str) -> Json:
    """A container's only volume mount."""
    return {"volumeMounts": [{"name": name, "mountPath": path}]}


def both(*patches: Json) -> Json:
    """Several patches at once."""
    whole: Json = {}
    for patch in patches:
        whole = merged(whole, patch)
    return whole


def _manifest(kind: str, spec: Json, name: str, metadata: Json) -> Json:
    """A copy: whoever changes it changes nobody else's."""
    own = copy.deepcopy(spec)
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name, **metadata}, "spec": own}
