"""Words of a RayService's status: its conditions, their reasons and messages, and what Serve calls things."""

from typing import Final

RUNNING: Final = "Running"  # serviceStatus
APP_RUNNING: Final = "RUNNING"
DEFAULT_APPLICATION: Final = "default"

READY: Final = "Ready"
UPGRADE_IN_PROGRESS: Final = "UpgradeInProgress"
ROLLBACK_IN_PROGRESS: Final = "RollbackInProgress"
SUSPENDING: Final = "Suspending"
SUSPENDED: Final = "Suspended"
UPGRADE_FAILED: Final = "UpgradeFailed"  # ours: an upgrade was given up, and why

INITIALIZING: Final = "Initializing"
INITIALIZING_TIMEOUT: Final = "InitializingTimeout"
ZERO_ENDPOINTS: Final = "ZeroServeEndpoints"
NONZERO_ENDPOINTS: Final = "NonZeroServeEndpoints"
BOTH_EXIST: Final = "BothActivePendingClustersExist"
NO_PENDING: Final = "NoPendingCluster"
NO_ACTIVE: Final = "NoActiveCluster"
VALIDATION_FAILED: Final = "ValidationFailed"
SPEC_CHANGED: Final = "DesiredClusterSpecChanged"
SUSPEND_REQUESTED: Final = "SuspendRequested"
SUSPEND_IN_PROGRESS: Final = "SuspendInProgress"
SUSPEND_COMPLETE: Final = "SuspendComplete"
RESUMED: Final = "RayServiceResumed"
DEADLINE_EXCEEDED: Final = "UpgradeDeadlineExceeded"
UPGRADE_SUPERSEDED: Final = "SpecChanged"

SAYS_INITIALIZING: Final = "RayService is initializing"
SAYS_NONZERO: Final = "Number of serve endpoints is greater than 0"
SAYS_ZERO: Final = "Number of serve endpoints dropped to 0"
SAYS_BOTH: Final = "Both active and pending Ray clusters exist"
SAYS_NO_PENDING: Final = "Active Ray cluster exists and no pending Ray cluster"
SAYS_NO_ACTIVE: Final = (
    "No active Ray cluster exists, and the RayService is not initializing. "
    "Please open a GitHub issue in the KubeRay repository."
)
SAYS_WILL_DELETE: Final = "Spec.Suspend is true; will delete all Kubernetes resources owned by this RayService."
SAYS_SUSPENDING: Final = "RayService is suspending."
SAYS_NO_UPGRADE: Final = "No upgrade in progress."
SAYS_NO_ROLLBACK: Final = "No rollback in progress."
SAYS_WAITING: Final = "Waiting for all Kubernetes resources owned by this RayService to be deleted."
SAYS_DELETED: Final = "All owned resources have been deleted."
SAYS_SUSPENDED: Final = "RayService is suspended."
SAYS_RESUMED: Final = "Spec.Suspend is false; RayService has resumed."
SAYS_RESUMING: Final = "RayService is initializing after resuming from suspend."
SAYS_REVERTED: Final = "Goal state reverted to original cluster, rolling back."
SAYS_CHANGED: Final = "Goal state changed mid-upgrade, rolling back to original cluster."
