"""Head and worker pods, built in KubeRay's order of steps."""

from collections.abc import Iterable, Mapping

import msgspec

from manta_common.api import containers, labels, names
from manta_common.api.raycluster import RayCluster
from manta_common.api.raygroups import WorkerGroupSpec
from manta_common.ray.auth import set_auth
from manta_common.ray.autoscaler import add_autoscaler, forbid_restarts
from manta_common.ray.cluster import Manifest, head_port, origin
from manta_common.ray.command import mark_overwritten, set_command
from manta_common.ray.draft import Draft, append, pod_from
from manta_common.ray.environment import set_init_environment, set_ray_environment
from manta_common.ray.fault_tolerance import set_fault_tolerance
from manta_common.ray.hashes import recreate_annotations
from manta_common.ray.history import add_collector, set_event_export
from manta_common.ray.names import Place, head_pod_name, replica_name, worker_pod_name, worker_record
from manta_common.ray.params import head_params, with_group_fields, worker_params
from manta_common.ray.probes import set_probes
from manta_common.ray.schedulers.marks import marked
from manta_common.ray.schedulers.parent import cluster_parent
from manta_common.ray.settings import RaySettings
from manta_common.ray.tls import set_tls
from manta_common.ray.volumes import add_logs, add_shared_memory
from manta_common.ray.waiting import add_waiting


def head_pod(cluster: RayCluster, life: int, settings: RaySettings) -> Manifest:
    """The head, ready to be created."""
    pod = unmarked_head_pod(cluster, life, settings)
    pod["metadata"]["annotations"] |= recreate_annotations(cluster)
    return marked(pod, cluster_parent(cluster), labels.HEAD_GROUP, settings)


def unmarked_head_pod(cluster: RayCluster, life: int, settings: RaySettings) -> Manifest:
    """The head without what only a running one bears: the cleanup Job is made from this."""
    group = cluster.spec.head_group_spec
    draft = Draft(
        cluster=cluster,
        settings=settings,
        node_type=labels.HEAD,
        group=labels.HEAD_GROUP,
        params=with_group_fields(group.ray_start_params, group.resources, group.labels),
        pod=pod_from(cluster, group.template),
    )
    draft.metadata["generateName"] = f"{names.head_pod_prefix(cluster.metadata.name)}{life}-"
    draft.metadata["name"] = head_pod_name(cluster, life, settings)
    _set_labels(draft, group.labels)
    draft.params = head_params(draft.params, draft.resources)
    mark_overwritten(draft)
    add_autoscaler(draft)
    _finish(draft, settings.head_sidecars)
    return draft.pod


def worker_pod(cluster: RayCluster, group: WorkerGroupSpec, place: Place, settings: RaySettings) -> Manifest:
    """One worker, ready to be created."""
    return worker_pods(cluster, group, [place], settings)[0]


def worker_pods(
    cluster: RayCluster, group: WorkerGroupSpec, places: Iterable[Place], settings: RaySettings
) -> list[Manifest]:
    """Workers of one group, ready to be created; the parts that they have in common are shared between them."""
    common = _worker(cluster, group, settings)
    return [_placed(common, cluster, group, place=place, settings=settings) for place in places]


def _worker(cluster: RayCluster, group: WorkerGroupSpec, settings: RaySettings) -> Manifest:
    draft = Draft(
        cluster=cluster,
        settings=settings,
        node_type=labels.WORKER,
        group=group.group_name,
        params=with_group_fields(group.ray_start_params, group.resources, group.labels),
        pod=pod_from(cluster, group.template),
    )
    add_waiting(draft)
    _set_labels(draft, group.labels)
    address = f"{draft.address}:{head_port(cluster)}"
    draft.params = worker_params(draft.params, draft.resources, address)
    mark_overwritten(draft)
    _finish(draft, settings.worker_sidecars)
    return marked(draft.pod, cluster_parent(cluster), group.group_name, settings)


def _placed(
    common: Manifest, cluster: RayCluster, group: WorkerGroupSpec, *, place: Place, settings: RaySettings
) -> Manifest:
    metadata = common["metadata"] | {
        "name": worker_pod_name(cluster, group.group_name, place),
        "generateName": worker_record(cluster, group.group_name, place),
    }
    if settings.gates.multi_host_indexing:
        metadata["labels"] = metadata["labels"] | _replica_labels(cluster, group, place)
    return common | {"metadata": metadata}


def _replica_labels(cluster: RayCluster, group: WorkerGroupSpec, place: Place) -> dict[str, str]:
    index = {labels.REPLICA_INDEX: str(place.replica)}
    if group.num_of_hosts <= 1:
        return index
    name = replica_name(cluster, group.group_name, place)
    return index | {labels.REPLICA_NAME: name, labels.HOST_INDEX: str(place.host)}


def _set_labels(draft: Draft, by_group: Mapping[str, str]) -> None:
    own = {
        labels.IS_RAY_NODE: labels.YES,
        labels.CLUSTER: draft.cluster.metadata.name,
        labels.NODE_TYPE: draft.node_type,
        labels.GROUP: draft.group,
        labels.IDENTIFIER: names.identifier(draft.cluster.metadata.name, draft.node_type),
        labels.APP_NAME: labels.APP_NAME_VALUE,
        labels.CREATED_BY: labels.CREATED_BY_VALUE,
    }
    users = draft.metadata["labels"] | by_group
    free = {name: value for name, value in users.items() if name not in labels.FIXED_ON_PODS}
    draft.metadata["labels"] = own | free


def _finish(draft: Draft, sidecars: Iterable[Mapping[str, object]]) -> None:
    """The steps that head and worker have in common, in their order."""
    set_fault_tolerance(draft)
    _add_metrics_port(draft)
    forbid_restarts(draft)
    set_auth(draft)
    set_tls(draft)
    add_collector(draft)
    append(draft.spec, "containers", (msgspec.to_builtins(sidecar) for sidecar in sidecars))
    _set_defaults(draft)
    if origin(draft.cluster) == "RayService":
        draft.metadata["labels"][labels.SERVE] = labels.FALSE if draft.is_head else labels.TRUE
    add_shared_memory(draft)
    add_logs(draft)
    set_command(draft)
    set_init_environment(draft)
    set_ray_environment(draft)
    set_event_export(draft)
    set_probes(draft)


def _add_metrics_port(draft: Draft) -> None:
    if all(port.name != containers.METRICS_PORT_NAME for port in draft.ports):
        port = {"name": containers.METRICS_PORT_NAME, "containerPort": containers.METRICS_PORT}
        append(draft.ray, "ports", [port])


def _set_defaults(draft: Draft) -> None:
    draft.metadata["annotations"] = dict(draft.settings.pod_annotations) | draft.metadata["annotations"]
    draft.metadata["labels"] = dict(draft.settings.pod_labels) | draft.metadata["labels"]
