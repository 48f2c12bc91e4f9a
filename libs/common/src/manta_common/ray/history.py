"""The container that collects logs and events of a pod for the history server."""

from typing import Final

import msgspec
from msgspec import UNSET

from manta_common.api import containers, env, labels
from manta_common.api.rayoptions import CollectorOptions
from manta_common.ray.auth import give_token
from manta_common.ray.cluster import Manifest, has_collector
from manta_common.ray.draft import Draft, append, append_absent, decoded, field_variable, variable

_EVENT_TYPES: Final = (
    "TASK_DEFINITION_EVENT",
    "TASK_LIFECYCLE_EVENT",
    "ACTOR_TASK_DEFINITION_EVENT",
    "TASK_PROFILE_EVENT",
    "DRIVER_JOB_DEFINITION_EVENT",
    "DRIVER_JOB_LIFECYCLE_EVENT",
    "ACTOR_DEFINITION_EVENT",
    "ACTOR_LIFECYCLE_EVENT",
    "NODE_DEFINITION_EVENT",
    "NODE_LIFECYCLE_EVENT",
)
_USUAL_RESOURCES: Final = {
    "limits": {"cpu": "200m", "memory": "256Mi"},
    "requests": {"cpu": "50m", "memory": "64Mi"},
}


def add_collector(draft: Draft) -> None:
    """Put the collector beside Ray."""
    options = draft.cluster.spec.history_server_options
    if has_collector(draft.cluster, draft.settings) and options and options.collector_options:
        collector = _collector(draft, options.collector_options)
        give_token(draft.cluster, collector)
        append(draft.spec, "containers", [collector])


def set_event_export(draft: Draft) -> None:
    """Let Ray send its events to the collector."""
    if not has_collector(draft.cluster, draft.settings):
        return
    types = ",".join(_EVENT_TYPES)
    wanted = {
        env.ENABLE_RAY_EVENT: labels.TRUE,
        env.ENABLE_CORE_WORKER_EVENT: labels.TRUE,
        env.EVENTS_EXPORT_ADDRESS: f"http://localhost:{containers.EVENTS_PORT}/v1/events",
        env.EXPOSABLE_EVENTS: types,
        env.HTTP_EXPOSABLE_EVENTS: types,
    }
    append_absent(draft.ray, [variable(name, value) for name, value in wanted.items()])


def _collector(draft: Draft, options: CollectorOptions) -> Manifest:
    resources = _USUAL_RESOURCES if options.resources is UNSET else msgspec.json.decode(options.resources)
    return {
        "name": containers.HISTORY_COLLECTOR,
        "image": options.image or "",
        "imagePullPolicy": options.image_pull_policy or "IfNotPresent",
        "resources": msgspec.to_builtins(resources),
        "env": _environment(draft, options),
    }


def _environment(draft: Draft, options: CollectorOptions) -> list[Manifest]:
    metadata, given = draft.cluster.metadata, decoded(options.env)
    origin = {
        env.OWNER_KIND: metadata.labels.get(labels.ORIGINATED_FROM_KIND, ""),
        env.OWNER_NAME: metadata.labels.get(labels.ORIGINATED_FROM_NAME, ""),
    }
    asks_dashboard = draft.is_head and all(one["name"] != env.DASHBOARD_ADDRESS for one in given)
    dashboard = f"http://localhost:{containers.DASHBOARD_PORT}"
    return [
        field_variable(env.POD_IP, "status.podIP"),
        variable(env.RAY_CLUSTER_NAME, metadata.name),
        variable(env.RAY_CLUSTER_NAMESPACE, metadata.namespace),
        variable(env.RAY_ROLE, "Head" if draft.is_head else "Worker"),
        variable(env.EVENTS_PORT, str(containers.EVENTS_PORT)),
        variable(env.FQ_RAY_IP, draft.address),
        *(variable(name, value) for name, value in origin.items() if value),
        *([variable(env.DASHBOARD_ADDRESS, dashboard)] if asks_dashboard else []),
        *given,
    ]
