"""Annotation keys and finalizers on Ray objects and on what is made from them."""

from typing import Final

FT_ENABLED: Final = "ray.io/ft-enabled"
EXTERNAL_STORAGE_NAMESPACE: Final = "ray.io/external-storage-namespace"
GCS_FT_DELETION_TIMEOUT: Final = "ray.io/gcs-ft-deletion-timeout"
OVERWRITE_CONTAINER_CMD: Final = "ray.io/overwrite-container-cmd"
ENABLE_SERVE_SERVICE: Final = "ray.io/enable-serve-service"
DISABLE_PROVISIONED_HEAD_RESTART: Final = "ray.io/disable-provisioned-head-restart"
INITIALIZING_TIMEOUT: Final = "ray.io/initializing-timeout"
UPGRADE_TIMEOUT: Final = "ray.io/upgrade-timeout"  # ours
RECREATE_HASH: Final = "ray.io/upgrade-strategy-recreate-hash"
CLUSTER_HASH: Final = "ray.io/hash-without-replicas-and-workers-to-delete"
NUM_WORKER_GROUPS: Final = "ray.io/num-worker-groups"
KUBERAY_VERSION: Final = "ray.io/kuberay-version"
CRON_SCHEDULED_AT: Final = "ray.io/cronjob-scheduled-timestamp"
INGRESS_CLASS: Final = "kubernetes.io/ingress.class"

VOLCANO_GROUP: Final = "scheduling.k8s.io/group-name"
VOLCANO_TASK: Final = "volcano.sh/task-spec"
YUNIKORN_TASK_GROUPS: Final = "yunikorn.apache.org/task-groups"
YUNIKORN_TASK_GROUP: Final = "yunikorn.apache.org/task-group-name"

# What the annotations of KubeRay 1.7.0 say; another value makes RayServices rewrite their clusters.
KUBERAY_VERSION_VALUE: Final = "v1.7.0"

CLUSTER_FINALIZER: Final = "ray.io/gcs-ft-redis-cleanup-finalizer"
JOB_FINALIZER: Final = "ray.io/rayjob-finalizer"
SERVICE_FINALIZER: Final = "ray.io/rayservice-finalizer"
POD_GROUP_FINALIZER: Final = "scheduling.k8s.io/podgroup-protection"
