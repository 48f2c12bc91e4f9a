"""The Job that removes a deleted cluster's keys from Redis."""

from typing import Final

from manta_common.api import containers, env, labels, names
from manta_common.api.raycluster import RayCluster
from manta_common.ray.cluster import Manifest, head_template
from manta_common.ray.draft import append, equal_resources, has_variable, variable
from manta_common.ray.pods import unmarked_head_pod
from manta_common.ray.settings import RaySettings

DEADLINE_SECONDS: Final = 300
_HELP: Final = (
    "To get more information about manually deleting the storage namespace in Redis and removing the RayCluster's "
    "finalizer, please check https://docs.ray.io/en/master/cluster/kubernetes/user-guides/kuberay-gcs-ft.html for "
    "more details."
)
_PREPARE: Final = (
    "from ray._private.gcs_utils import cleanup_redis_storage; "
    "from urllib.parse import urlparse; "
    "import os; "
    "import sys; "
    f"redis_address = os.getenv('{env.RAY_REDIS_ADDRESS}', '').split(',')[0]; "
    "redis_address = redis_address if '://' in redis_address else 'redis://' + redis_address; "
    "parsed = urlparse(redis_address); "
)
_USERNAME: Final = f"username=os.getenv('{env.REDIS_USERNAME}', parsed.username), "
_CONNECT: Final = {env.REDIS_CONNECT_RETRIES: "120", env.REDIS_CONNECT_WAIT: "500"}


def redis_cleanup_job(cluster: RayCluster, settings: RaySettings) -> Manifest:
    """The Job, made from the head as it would be made now: same image, volumes, node and credentials."""
    pod = unmarked_head_pod(cluster, 0, settings)
    metadata = pod["metadata"]
    if not head_template(cluster).metadata.name:
        del metadata["name"]  # computed; Jobs name their pods themselves
    metadata["generateName"] = names.head_pod_prefix(cluster.metadata.name)
    metadata["labels"][labels.NODE_TYPE] = labels.REDIS_CLEANUP
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": names.redis_cleanup_job(cluster.metadata.name),
            "namespace": cluster.metadata.namespace,
            "labels": dict(metadata["labels"]),
            "annotations": dict(metadata["annotations"]),
            "ownerReferences": list(metadata["ownerReferences"]),
        },
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": DEADLINE_SECONDS,
            "template": {"metadata": metadata, "spec": _cleaning(pod["spec"], settings)},
        },
    }


def _cleaning(spec: Manifest, settings: RaySettings) -> Manifest:
    container = spec["containers"][0]
    for probe in ("livenessProbe", "readinessProbe"):
        container.pop(probe, None)
    container["command"] = list(settings.shell)
    container["args"] = [_script(by_user=has_variable(container, env.REDIS_USERNAME))]
    container["resources"] = equal_resources("200m", "256Mi")
    append(container, "env", [variable(name, value) for name, value in _CONNECT.items()])
    kept = [one for one in spec.get("initContainers", ()) if one.get("name") != containers.WAIT_TLS_IP_SAN]
    first = {"initContainers": kept} if kept else {}
    rest = {name: value for name, value in spec.items() if name != "initContainers"}
    return {**rest, **first, "containers": [container], "restartPolicy": "Never"}


def _script(*, by_user: bool) -> str:
    finish = (
        "sys.exit(1) if not cleanup_redis_storage(host=parsed.hostname, port=parsed.port, "
        f"{_USERNAME if by_user else ''}"
        f"password=os.getenv('{env.REDIS_PASSWORD}', parsed.password or ''), "
        "use_ssl=parsed.scheme=='rediss', "
        f"storage_namespace=os.getenv('{env.EXTERNAL_STORAGE_NAMESPACE}')) else None"
    )
    return f'echo "{_HELP}" && python -c "{_PREPARE}{finish}"'
