"""The kinds that every API serves without a CRD."""

from manta_common import kinds
from manta_common.kinds import Kind
from manta_embedded.store import events
from manta_embedded.store.kinds import Conversions, Served
from manta_embedded.store.openapi import builtin_shape

RBAC = "rbac.authorization.k8s.io"
RESOURCEQUOTA = Kind("resourcequota", "ResourceQuota", "resourcequotas")
CLUSTERROLE = Kind("clusterrole", "ClusterRole", "clusterroles", RBAC, namespaced=False)
CLUSTERROLEBINDING = Kind("clusterrolebinding", "ClusterRoleBinding", "clusterrolebindings", RBAC, namespaced=False)
CORE_EVENT = Kind("coreevent", "Event", "events")
PRIORITYCLASS = Kind("priorityclass", "PriorityClass", "priorityclasses", "scheduling.k8s.io", namespaced=False)
POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
EVENT_FIELDS = ("reason", "reportingController", "type")
EVENT_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def builtin_kinds() -> list[Served]:
    """All of them."""
    found = [
        _served(kinds.POD, status=True, generation=True, fields=POD_FIELDS),
        _served(kinds.SERVICE, status=True, fields=("spec.clusterIP", "spec.type")),
        _served(kinds.SECRET, fields=("type",)),
        _served(kinds.NAMESPACE, status=True, fields=("status.phase",)),
        _served(kinds.NODE, status=True, fields=("spec.unschedulable",)),
        _served(kinds.JOB, status=True, generation=True, fields=("status.successful",)),
        _served(kinds.INGRESS, status=True, generation=True),
        _served(kinds.NETWORKPOLICY, generation=True),
        _served(kinds.ENDPOINTSLICE, generation=True),
        _served(kinds.CRD, status=True, generation=True),
        _served(PRIORITYCLASS, generation=True),
        *(_served(kind, status=True) for kind in (kinds.PVC, RESOURCEQUOTA)),
        *(_served(kind) for kind in (kinds.CONFIGMAP, kinds.SERVICEACCOUNT, kinds.LEASE)),
        *(_served(kind) for kind in (kinds.ROLE, kinds.ROLEBINDING, CLUSTERROLE, CLUSTERROLEBINDING)),
    ]
    return [*found, *_events()]


def _served(kind: Kind, *, status: bool = False, generation: bool = False, fields: tuple[str, ...] = ()) -> Served:
    storage = (kind.group, kind.plural)
    shape = builtin_shape(kind)
    return Served(kind=kind, storage=storage, status=status, generation=generation, fields=fields, shape=shape)


def _events() -> list[Served]:
    """Events are served by two groups, with other names for the same fields, and stored once."""
    storage = (kinds.EVENT.group, kinds.EVENT.plural)
    regarding = tuple(f"regarding.{field}" for field in EVENT_REFERENCE)
    involved = tuple(f"involvedObject.{field}" for field in EVENT_REFERENCE)
    core_fields = (*involved, "reason", "reportingComponent", "source", "type")
    return [
        Served(
            kind=kinds.EVENT,
            storage=storage,
            fields=(*EVENT_FIELDS, *regarding),
            shape=builtin_shape(kinds.EVENT),
        ),
        Served(
            kind=CORE_EVENT,
            storage=storage,
            fields=core_fields,
            conversions=Conversions(events.from_core, events.to_core),
            shape=builtin_shape(CORE_EVENT),
        ),
    ]
