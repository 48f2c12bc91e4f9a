"""Words of a RayJob's status: its states, why it failed, and the types and reasons of our conditions."""

from typing import Final

NEW: Final = ""
INITIALIZING: Final = "Initializing"
WAITING: Final = "Waiting"
RUNNING: Final = "Running"
SUSPENDING: Final = "Suspending"
SUSPENDED: Final = "Suspended"
RETRYING: Final = "Retrying"
COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
VALIDATION_FAILED: Final = "ValidationFailed"
ENDED: Final = frozenset({COMPLETE, FAILED})
WINDING_DOWN: Final = frozenset({SUSPENDING, RETRYING})
FAILING: Final = frozenset({FAILED, RETRYING, VALIDATION_FAILED})

K8S_JOB_MODE: Final = "K8sJobMode"
HTTP_MODE: Final = "HTTPMode"
SIDECAR_MODE: Final = "SidecarMode"
INTERACTIVE_MODE: Final = "InteractiveMode"

SUBMISSION_FAILED: Final = "SubmissionFailed"
DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
PRE_RUNNING_DEADLINE_EXCEEDED: Final = "PreRunningDeadlineExceeded"
APP_FAILED: Final = "AppFailed"
GRACE_PERIOD_EXCEEDED: Final = "JobDeploymentStatusTransitionGracePeriodExceeded"
STATUS_CHECK_TIMEOUT: Final = "JobStatusCheckTimeoutExceeded"
# A further attempt would meet the same end, or has no time left.
FINAL_REASONS: Final = frozenset({DEADLINE_EXCEEDED, STATUS_CHECK_TIMEOUT})

CONDITION_INITIALIZED: Final = "Initialized"
CONDITION_SUBMITTED: Final = "Submitted"
CONDITION_RUNNING: Final = "Running"
CONDITION_COMPLETE: Final = "Complete"
CONDITION_FAILED: Final = "Failed"
CONDITION_SUSPENDED: Final = "Suspended"
REFUSED: Final = "What the job needs cannot be made: "  # what a condition says then
