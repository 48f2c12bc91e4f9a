"""What the janitor may do: delete what rules ask for, and clean up after clusters."""

from manta_common.kinds import JOB, POD, RAYCLUSTER, RAYCRONJOB, RAYJOB, RAYSERVICE, SECRET, SERVICE
from manta_common.rights import NAME_TAKEN, OWNER, Rights, events, right
from manta_janitor.clusters import FadingService
from manta_janitor.history import HistoryService
from manta_janitor.jobs import EndingService
from manta_janitor.orphans import OrphanService

_LEFT = "asked only where the garbage collector has left what names a RayService that is gone"

RIGHTS = Rights(
    service="janitor",
    kubernetes=(
        right(RAYJOB, "delete get"),
        right(RAYJOB, "patch", part="status"),
        right(RAYCRONJOB, "get", when="cron"),
        right(RAYCLUSTER, "delete get patch"),
        right(RAYCLUSTER, "update", part="finalizers", why=OWNER),
        right(POD, "delete list"),
        right(JOB, "create list"),
        right(JOB, "get", why=NAME_TAKEN),
        right(SECRET, "get", when="redisByJanitor"),
        *(right(kind, "get", when="orphans") for kind in (POD, SERVICE)),
        right(RAYSERVICE, "get", when="orphans", why=_LEFT),
        *events(),
    ),
    planes=(EndingService.name, FadingService.name, HistoryService.name, OrphanService.name),
)
