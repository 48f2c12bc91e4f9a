"""What the job-reconciler may do: make what RayJobs need and RayJobs of schedules, and tell how they are."""

from manta_common.dashboard.calls import SERVICE as CALLS
from manta_common.kinds import JOB, POD, RAYCLUSTER, RAYCRONJOB, RAYJOB, SERVICE, VOLCANO_PODGROUP
from manta_common.rights import NAME_TAKEN, OWNER, BusRights, Rights, events, right
from manta_job_reconciler.reconcile import JobService
from manta_job_reconciler.schedules import CronService

HEADLESS = "read only when a head pod is not seen, before its job is called failed"
RIGHTS = Rights(
    service="job-reconciler",
    kubernetes=(
        right(RAYJOB, "patch"),
        right(RAYJOB, "patch", part="status"),
        right(RAYJOB, "update", part="finalizers", why=OWNER),
        right(RAYJOB, "create delete list", when="cron"),
        right(RAYJOB, "get", when="cron", why=NAME_TAKEN),
        right(RAYCRONJOB, "patch", part="status", when="cron"),
        right(RAYCRONJOB, "update", part="finalizers", when="cron", why=OWNER),
        right(RAYCLUSTER, "create delete list"),
        right(SERVICE, "create list patch"),
        right(JOB, "create delete list"),
        right(POD, "list", why=HEADLESS),
        *(right(kind, "get", why=NAME_TAKEN) for kind in (RAYCLUSTER, SERVICE, JOB)),
        right(VOLCANO_PODGROUP, "create get patch", when="volcano"),
        *events(),
    ),
    planes=(JobService.name, CronService.name),
    bus=BusRights(calls=(CALLS,)),
)
