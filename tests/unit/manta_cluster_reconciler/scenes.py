"""Clusters and what belongs to them, made by a few words for tables of tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from manta_cluster_reconciler.actions import Action, CreatePod, DeletePod, Phase
from manta_cluster_reconciler.observed import Fetched, Memory, Observed, observed
from manta_cluster_reconciler.rules import Rules
from manta_common.api import labels
from manta_common.api.core import Pod, Service
from manta_common.api.meta import Condition
from manta_common.api.raycluster import RayCluster
from manta_common.kinds import Kind
from manta_common.ray.names import Place, replica_name, worker_pod_name, worker_record
from manta_common.ray.pods import head_pod
from manta_common.ray.services import head_service
from manta_common.ray.settings import RaySettings
from tests.examples import manifests
from tests.examples.example import Json, merged

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RULES = Rules()
RUNNING: Json = {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
FAILED: Json = {"phase": "Failed"}


def cluster(patch: Json | None = None, *, status: Json | None = None, **metadata: Any) -> RayCluster:
    """A RayCluster `demo` as it comes from the feed."""
    about = {"namespace": "ns", "uid": "u-1", "generation": 1, "resourceVersion": "7", **metadata}
    manifest = manifests.cluster(patch, **about) | {"status": status or {}}
    return msgspec.json.decode(msgspec.json.encode(manifest), type=RayCluster)


def groups(*sizes: Json) -> Json:
    """A patch with these worker groups, called a, b, c and so on."""
    return manifests.workers(*({"groupName": name, **size} for name, size in zip("abcdef", sizes, strict=False)))


def true(*conditions: str) -> Json:
    """A status in which these conditions are True."""
    known = [
        Condition(type=name, status="True", reason=name, message="", last_transition_time=NOW) for name in conditions
    ]
    return {"conditions": msgspec.to_builtins(known)}


def head(of: RayCluster, status: Json | None = None, *, name: str = "", **fields: Any) -> Pod:
    """The head pod, running unless told otherwise."""
    made = head_pod(of, 0, RaySettings())
    return _pod(made, merged(RUNNING, status or {}), {"name": name or made["metadata"]["name"], **fields})


def worker(
    of: RayCluster, number: int, status: Json | None = None, *, group: str = "small", life: int = 0, **fields: Any
) -> Pod:
    """A worker pod, running unless told otherwise; number 12 of a group with 10 hosts is host 2 of worker 1."""
    spec = next((one for one in of.spec.worker_group_specs if one.group_name == group), None)
    hosts = max(1, spec.num_of_hosts) if spec else 1
    place = Place(*divmod(number, hosts), life)
    marks = {labels.CLUSTER: "demo", labels.NODE_TYPE: "worker", labels.GROUP: group}
    marks[labels.REPLICA_INDEX] = str(place.replica)
    if hosts > 1:
        marks |= {labels.REPLICA_NAME: replica_name(of, group, place), labels.HOST_INDEX: str(place.host)}
    metadata = {
        "name": worker_pod_name(of, group, place),
        "namespace": "ns",
        "generateName": worker_record(of, group, place),
        "labels": marks,
        "creationTimestamp": NOW - timedelta(hours=1),
    }
    pod = {"metadata": metadata, "spec": {"restartPolicy": "Always", "containers": [manifests.WORKER]}}
    return _pod(pod, merged(RUNNING, status or {}), fields)


def terminating() -> Json:
    """Metadata of a pod on its way out."""
    return {"deletionTimestamp": NOW}


def service(of: RayCluster, **spec: Any) -> Service:
    """The head Service as the API server gives it back."""
    made = head_service(of, RaySettings())
    made["spec"]["ports"] = [port | {"targetPort": port["port"]} for port in made["spec"]["ports"]]
    made["spec"] |= spec
    return msgspec.convert(msgspec.to_builtins(made), Service)


def scene(
    of: RayCluster, *pods: Pod, fetched: dict[tuple[Kind, str], Any] | None = None, memory: Memory | None = None
) -> Observed:
    """What is observed of a cluster with these pods and its head Service."""
    objects = {(kind.name, name): found for (kind, name), found in (fetched or {}).items()}
    return observed(of, pods, [service(of)], fetched=Fetched(objects=objects, fresh=True), memory=memory)


def created(phases: list[Phase] | list[Action]) -> list[str]:
    """The names of the pods that are created."""
    return [action.body["metadata"]["name"] for action in flat(phases) if isinstance(action, CreatePod)]


def deleted(phases: list[Phase] | list[Action]) -> list[str]:
    """The names of the pods that are deleted."""
    return [action.name for action in flat(phases) if isinstance(action, DeletePod)]


def flat(phases: Any) -> list[Action]:
    """All actions."""
    return [action for phase in phases for action in (phase if isinstance(phase, list) else [phase])]


def _pod(made: Json, status: Json, fields: Json) -> Pod:
    metadata = made["metadata"] | {"uid": f"uid-of-{fields.get('name') or made['metadata']['name']}"} | fields
    metadata.setdefault("creationTimestamp", NOW - timedelta(hours=1))
    metadata.setdefault("resourceVersion", "3")
    restart = {"restartPolicy": metadata.pop("restartPolicy")} if "restartPolicy" in metadata else {}
    spec = {"restartPolicy": "Always", **made["spec"], **restart}
    whole = {"metadata": metadata, "spec": spec, "status": status}
    return msgspec.json.decode(msgspec.json.encode(whole), type=Pod)
