"""How the old version `v1alpha1` differs from `v1`: it got no new fields, and no rules."""

from typing import Final

from manta_common.api.raycluster import HeadInfo, RayClusterSpec, RayClusterStatus
from manta_common.api.raygroups import HeadGroupSpec, WorkerGroupSpec
from manta_common.api.rayjob import RayJobSpec, RayJobStatus
from manta_common.api.rayoptions import AutoscalerOptions
from manta_common.api.rayservice import (
    AppStatus,
    RayServiceSpec,
    RayServiceStatus,
    RayServiceStatuses,
    ServeDeploymentStatus,
)
from manta_common.crd.schema import Delta, Schema

HEALTH: Final[dict[str, Schema]] = {"healthLastUpdateTime": {"type": "string", "format": "date-time"}}


def _lacking(names: str) -> frozenset[str]:
    return frozenset(names.split())


DELTAS: Final[dict[type, Delta]] = {
    RayClusterSpec: Delta(
        _lacking(
            "upgradeStrategy authOptions managedBy gcsFaultToleranceOptions historyServerOptions networkPolicy "
            "tlsOptions"
        )
    ),
    HeadGroupSpec: Delta(_lacking("ingressOptions resources labels"), required=("rayStartParams", "template")),
    WorkerGroupSpec: Delta(
        _lacking("suspend idleTimeoutSeconds priority resources labels numOfHosts"),
        required=("groupName", "maxReplicas", "minReplicas", "rayStartParams", "template"),
    ),
    AutoscalerOptions: Delta(_lacking("version command args")),
    RayClusterStatus: Delta(_lacking("conditions stateTransitionTimes")),
    HeadInfo: Delta(_lacking("podName serviceName")),
    RayJobSpec: Delta(
        _lacking(
            "activeDeadlineSeconds backoffLimit submitterConfig managedBy deletionStrategy submissionMode "
            "preRunningDeadlineSeconds"
        ),
        required=("entrypoint",),
    ),
    RayJobStatus: Delta(
        _lacking("rayJobInfo reason succeeded failed jobStatusCheckFailureStartTime conditions"),
    ),
    RayServiceSpec: Delta(
        _lacking("rayClusterDeletionDelaySeconds upgradeStrategy managedBy excludeHeadPodFromServeSvc suspend"),
        required=(),
    ),
    RayServiceStatuses: Delta(_lacking("conditions numServeEndpoints")),
    RayServiceStatus: Delta(_lacking("targetCapacity trafficRoutedPercent lastTrafficMigratedTime")),
    AppStatus: Delta(besides=HEALTH),
    ServeDeploymentStatus: Delta(besides=HEALTH),
}
