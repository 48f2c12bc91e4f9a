"""What the serve-reconciler may do: make clusters and Services for RayServices, label heads, and tell how they are."""

from manta_common.dashboard.calls import SERVICE as CALLS
from manta_common.kinds import GATEWAY, HTTPROUTE, POD, RAYCLUSTER, RAYSERVICE, SERVICE
from manta_common.rights import NAME_TAKEN, OWNER, BusRights, Rights, events, right
from manta_serve_reconciler.reconcile import ServeService

RIGHTS = Rights(
    service="serve-reconciler",
    kubernetes=(
        right(RAYSERVICE, "get list patch"),
        right(RAYSERVICE, "patch", part="status"),
        right(RAYSERVICE, "update", part="finalizers", why=OWNER),
        right(RAYCLUSTER, "create delete list patch"),
        right(SERVICE, "create delete list patch"),
        *(right(kind, "get", why=NAME_TAKEN) for kind in (RAYCLUSTER, SERVICE)),
        right(POD, "patch"),
        right(RAYCLUSTER, "update", part="finalizers", when="incrementalUpgrade", why=OWNER),
        right(GATEWAY, "create delete get patch", when="incrementalUpgrade"),
        right(HTTPROUTE, "create delete get patch", when="incrementalUpgrade"),
        *events(),
    ),
    planes=(ServeService.name,),
    bus=BusRights(calls=(CALLS,)),
)
