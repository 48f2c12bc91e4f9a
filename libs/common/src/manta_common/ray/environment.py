"""The environment of Ray's container and of the init containers, in KubeRay's order."""

from manta_common.api import annotations, env, labels
from manta_common.ray.cluster import Manifest, head_port, origin
from manta_common.ray.command import ray_start
from manta_common.ray.draft import Draft, append, append_absent, field_variable, variable

_LOOPBACK = "127.0.0.1"


def cluster_fields() -> list[Manifest]:
    """Which cluster a container belongs to, by the pod's own labels."""
    return [
        field_variable(env.RAY_CLUSTER_NAME, f"metadata.labels['{labels.CLUSTER}']"),
        field_variable(env.RAY_CLUSTER_NAMESPACE, "metadata.namespace"),
    ]


def head_variables(draft: Draft) -> list[Manifest]:
    """Where the head is."""
    return [variable(env.FQ_RAY_IP, draft.address), variable(env.RAY_IP, draft.address.partition(".")[0])]


def set_init_environment(draft: Draft) -> None:
    """Tell every init container where the head is, the users' own too."""
    for container in draft.spec.get("initContainers", ()):
        append(container, "env", head_variables(draft))


def set_ray_environment(draft: Draft) -> None:
    """Give Ray's container all that it has to know; what the user set stays, but for what identifies the pod."""
    port, by_service = head_port(draft.cluster), origin(draft.cluster) == "RayService"
    append_absent(draft.ray, draft.settings.container_envs)
    append(draft.ray, "env", [] if draft.is_head else head_variables(draft))
    append(draft.ray, "env", _identity(draft))
    append_absent(draft.ray, [variable(env.RAY_PORT, port)])
    append_absent(draft.ray, _serve_variables() if by_service else [])
    host = _LOOPBACK if draft.is_head else draft.address
    append_absent(draft.ray, [variable(env.RAY_ADDRESS, f"{host}:{port}"), variable(env.USAGE_STATS_IN_USE, "1")])
    append(draft.ray, "env", [_usage_tags(draft)] if draft.is_head else [])
    append_absent(draft.ray, [variable(env.K8S_DISK_USAGE, "1")])


def _identity(draft: Draft) -> list[Manifest]:
    return [
        *cluster_fields(),
        field_variable(env.RAY_CLOUD_INSTANCE_ID, "metadata.name"),
        field_variable(env.RAY_NODE_TYPE_NAME, f"metadata.labels['{labels.GROUP}']"),
        variable(env.RAY_START_CMD, ray_start(draft)),
    ]


def _serve_variables() -> list[Manifest]:
    return [
        variable(env.SERVE_DEATH_INFO_WAIT, "0"),
        variable(env.SERVE_GCS_TIMEOUT, "5"),
        variable(env.SERVE_KV_TIMEOUT, "5"),
    ]


def _usage_tags(draft: Draft) -> Manifest:
    tags = f"kuberay_version={annotations.KUBERAY_VERSION_VALUE};kuberay_crd={origin(draft.cluster)}"
    return variable(env.USAGE_STATS_TAGS, tags)
