"""What the cluster-reconciler may do: make and change the children of RayClusters, and tell how they are."""

from manta_common.kinds import (
    CERTIFICATE,
    INGRESS,
    ISSUER,
    NETWORKPOLICY,
    PLUGINS_PODGROUP,
    POD,
    PVC,
    RAYCLUSTER,
    ROLE,
    ROLEBINDING,
    ROUTE,
    SECRET,
    SERVICE,
    SERVICEACCOUNT,
    VOLCANO_PODGROUP,
    WORKLOAD,
    WORKLOAD_PODGROUP,
)
from manta_common.rights import NAME_TAKEN, OWNER, Rights, events, right

_GRANTED = "the autoscaler's role is refused unless its maker has these rights too"

RIGHTS = Rights(
    service="cluster-reconciler",
    kubernetes=(
        right(RAYCLUSTER, "patch"),
        right(RAYCLUSTER, "patch", part="status"),
        right(RAYCLUSTER, "update", part="finalizers", why=OWNER),
        right(RAYCLUSTER, "get", why=_GRANTED),
        right(POD, "create delete list"),
        right(POD, "get", why=NAME_TAKEN),
        right(POD, "patch watch", why=_GRANTED),
        right(POD, "patch", part="resize", why=_GRANTED),
        right(SERVICE, "create list"),
        right(SERVICE, "get", why=NAME_TAKEN),
        right(SECRET, "create get"),
        right(SECRET, "patch", when="mtls"),
        right(SERVICEACCOUNT, "create get"),
        right(ROLE, "create get"),
        right(ROLEBINDING, "create get"),
        right(INGRESS, "create get patch"),
        right(ROUTE, "get"),  # the answer tells whether this is OpenShift
        right(ROUTE, "create", when="openshift"),
        right(PVC, "create get patch", when="embeddedStorage"),
        right(NETWORKPOLICY, "create delete list patch", when="networkPolicy"),
        right(ISSUER, "create get", when="mtls"),
        right(CERTIFICATE, "create get patch", when="mtls"),
        right(VOLCANO_PODGROUP, "create get patch", when="volcano"),
        right(PLUGINS_PODGROUP, "create get", when="schedulerPlugins"),
        right(WORKLOAD, "create delete get", when="workloads"),
        right(WORKLOAD_PODGROUP, "create delete get patch", when="workloads"),
        *events(),
    ),
    planes=("cluster-reconciler",),
)
