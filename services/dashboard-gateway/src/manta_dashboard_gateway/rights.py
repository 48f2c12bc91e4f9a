"""What the dashboard-gateway may do: read the tokens of dashboards, and tell what Ray says."""

from manta_common.dashboard.calls import SERVICE as CALLS
from manta_common.kinds import POD, SECRET, SERVICE
from manta_common.rights import BusRights, Rights, right

RIGHTS = Rights(
    service="dashboard-gateway",
    kubernetes=(
        right(SECRET, "get"),
        right(SERVICE, "create delete get update", part="proxy", when="dashboardProxy"),
        right(POD, "get", part="proxy", when="dashboardProxy"),
    ),
    planes=("dashboard-gateway",),
    bus=BusRights(publishes=("jobinfo", "serveinfo"), answers=(CALLS,)),
)
