"""Label keys and values that KubeRay, Ray's autoscaler and users' selectors agree on."""

from typing import Final

CLUSTER: Final = "ray.io/cluster"
NODE_TYPE: Final = "ray.io/node-type"
GROUP: Final = "ray.io/group"
IS_RAY_NODE: Final = "ray.io/is-ray-node"
IDENTIFIER: Final = "ray.io/identifier"
SERVE: Final = "ray.io/serve"
HEADLESS_WORKER_SERVICE: Final = "ray.io/headless-worker-svc"
REPLICA_INDEX: Final = "ray.io/worker-group-replica-index"
REPLICA_NAME: Final = "ray.io/worker-group-replica-name"
HOST_INDEX: Final = "ray.io/replica-host-index"
ORIGINATED_FROM_NAME: Final = "ray.io/originated-from-cr-name"
ORIGINATED_FROM_KIND: Final = "ray.io/originated-from-crd"
JOB_SUBMISSION_MODE: Final = "ray.io/job-submission-mode"
CRON_JOB_NAME: Final = "ray.io/cronjob-name"
PRIORITY_CLASS: Final = "ray.io/priority-class-name"
GANG_SCHEDULING: Final = "ray.io/gang-scheduling-enabled"

APP_NAME: Final = "app.kubernetes.io/name"
CREATED_BY: Final = "app.kubernetes.io/created-by"
COMPONENT: Final = "app.kubernetes.io/component"
ENDPOINT_SLICE_SERVICE: Final = "kubernetes.io/service-name"
JOB_NAME: Final = "job-name"

VOLCANO_QUEUE: Final = "volcano.sh/queue-name"
VOLCANO_TOPOLOGY_MODE: Final = "volcano.sh/network-topology-mode"
VOLCANO_TOPOLOGY_TIER: Final = "volcano.sh/network-topology-highest-tier-allowed"
YUNIKORN_APP_ID: Final = "yunikorn.apache.org/app-id"
YUNIKORN_QUEUE: Final = "yunikorn.apache.org/queue"
YUNIKORN_POD_APP_ID: Final = "applicationId"
YUNIKORN_POD_QUEUE: Final = "queue"
KAI_QUEUE: Final = "kai.scheduler/queue"
SCHEDULER_PLUGINS_POD_GROUP: Final = "scheduling.x-k8s.io/pod-group"

HEAD: Final = "head"
WORKER: Final = "worker"
REDIS_CLEANUP: Final = "redis-cleanup"
HEAD_GROUP: Final = "headgroup"
SUBMITTER_GROUP: Final = "submittergroup"
YES: Final = "yes"
TRUE: Final = "true"
FALSE: Final = "false"
APP_NAME_VALUE: Final = "kuberay"
CREATED_BY_VALUE: Final = "kuberay-operator"

ORIGINS: Final = ("RayCluster", "RayJob", "RayService")

# User labels on Pods never override these.
FIXED_ON_PODS: Final = frozenset({NODE_TYPE, GROUP, CLUSTER})


def origin(value: str | None) -> str:
    """Return the kind a cluster comes from; anything unknown counts as RayCluster."""
    return value if value in ORIGINS else "RayCluster"
