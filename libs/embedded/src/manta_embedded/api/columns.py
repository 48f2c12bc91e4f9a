"""The columns of the built-in kinds, as `kubectl get` shows them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from manta_embedded.api import cells, pod_cells
from manta_embedded.api.ages import age
from manta_embedded.store.objects import Obj, at_path

Cell = Callable[[Obj, datetime], Any]
RBAC = "rbac.authorization.k8s.io"
WIDE = 1


class Column(msgspec.Struct, frozen=True):
    """A column, and how its cell is found."""

    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def definition(self) -> Obj:
        """The column as a table tells it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def _age(obj: Obj, now: datetime) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def _plain(find: Callable[[Obj], Any]) -> Cell:
    return lambda obj, _now: find(obj)


def _of(name: str, find: Callable[[Obj], Any], *, wide: bool = False, type: str = "string") -> Column:  # noqa: A002
    return Column(name, _plain(find), type, priority=WIDE if wide else 0)


def _at(path: str, otherwise: Any = "") -> Callable[[Obj], Any]:
    return lambda obj: at_path(obj, path) or otherwise


NAME = Column("Name", _plain(lambda obj: obj["metadata"]["name"]), format="name")
AGE = Column("Age", _age)
DEFAULT: Sequence[Column] = (
    NAME,
    Column("Created At", _plain(lambda obj: obj["metadata"].get("creationTimestamp")), "date"),
)
BINDING: Sequence[Column] = (
    NAME,
    _of("Role", cells.role),
    AGE,
    _of("Users", cells.subjects("User"), wide=True),
    _of("Groups", cells.subjects("Group"), wide=True),
    _of("ServiceAccounts", cells.subjects("ServiceAccount"), wide=True),
)
BUILT_IN: Mapping[tuple[str, str], Sequence[Column]] = {
    ("", "pods"): (
        NAME,
        _of("Ready", pod_cells.ready),
        _of("Status", pod_cells.status),
        Column("Restarts", pod_cells.restarts),
        AGE,
        _of("IP", _at("status.podIP", "<none>"), wide=True),
        _of("Node", _at("spec.nodeName", "<none>"), wide=True),
        _of("Nominated Node", _at("status.nominatedNodeName", "<none>"), wide=True),
        _of("Readiness Gates", pod_cells.gates, wide=True),
    ),
    ("", "services"): (
        NAME,
        _of("Type", _at("spec.type")),
        _of("Cluster-IP", _at("spec.clusterIP", "<none>")),
        _of("External-IP", cells.external_address),
        _of("Port(s)", cells.service_ports),
        AGE,
        _of("Selector", cells.service_selector, wide=True),
    ),
    ("", "configmaps"): (NAME, _of("Data", cells.config_size), AGE),
    ("", "secrets"): (NAME, _of("Type", _at("type")), _of("Data", cells.secret_size), AGE),
    ("", "serviceaccounts"): (NAME, AGE),
    ("", "namespaces"): (NAME, _of("Status", _at("status.phase")), AGE),
    ("", "nodes"): (
        NAME,
        _of("Status", cells.node_status),
        _of("Roles", cells.node_roles),
        AGE,
        _of("Version", _at("status.nodeInfo.kubeletVersion")),
        _of("Internal-IP", cells.node_address("InternalIP"), wide=True),
        _of("External-IP", cells.node_address("ExternalIP"), wide=True),
        _of("OS-Image", _at("status.nodeInfo.osImage", "<unknown>"), wide=True),
        _of("Kernel-Version", cells.node_kernel, wide=True),
        _of("Container-Runtime", _at("status.nodeInfo.containerRuntimeVersion", "<unknown>"), wide=True),
    ),
    ("", "persistentvolumeclaims"): (
        NAME,
        _of("Status", cells.claim_phase),
        _of("Volume", _at("spec.volumeName")),
        _of("Capacity", cells.claim_capacity),
        _of("Access Modes", cells.claim_modes),
        _of("StorageClass", _at("spec.storageClassName")),
        _of("VolumeAttributesClass", _at("spec.volumeAttributesClassName", "<unset>")),
        AGE,
        _of("VolumeMode", _at("spec.volumeMode", "<unset>"), wide=True),
    ),
    ("", "resourcequotas"): (
        NAME,
        _of("Request", cells.quota(limits=False)),
        _of("Limit", cells.quota(limits=True)),
        AGE,
    ),
    ("events.k8s.io", "events"): (
        Column("Last Seen", cells.event_last),
        _of("Type", _at("type")),
        _of("Reason", _at("reason")),
        _of("Object", cells.event_object),
        _of("Subobject", cells.event_part, wide=True),
        _of("Source", cells.event_source, wide=True),
        _of("Message", cells.event_message),
        Column("First Seen", cells.event_first, priority=WIDE),
        _of("Count", cells.event_count, wide=True),
        Column("Name", _plain(lambda obj: obj["metadata"]["name"]), format="name", priority=WIDE),
    ),
    ("batch", "jobs"): (
        NAME,
        _of("Status", cells.job_status),
        _of("Completions", cells.job_completions),
        Column("Duration", cells.job_duration),
        AGE,
        _of("Containers", cells.job_containers("name"), wide=True),
        _of("Images", cells.job_containers("image"), wide=True),
        _of("Selector", cells.job_selector, wide=True),
    ),
    ("networking.k8s.io", "ingresses"): (
        NAME,
        _of("Class", _at("spec.ingressClassName", "<none>")),
        _of("Hosts", cells.ingress_hosts),
        _of("Address", cells.ingress_address),
        _of("Ports", lambda obj: "80, 443" if at_path(obj, "spec.tls") else "80"),
        AGE,
    ),
    ("networking.k8s.io", "networkpolicies"): (NAME, _of("Pod-Selector", cells.policy_selector), AGE),
    ("discovery.k8s.io", "endpointslices"): (
        NAME,
        _of("AddressType", _at("addressType")),
        _of("Ports", cells.slice_ports),
        _of("Endpoints", cells.slice_endpoints),
        AGE,
    ),
    ("coordination.k8s.io", "leases"): (NAME, _of("Holder", _at("spec.holderIdentity")), AGE),
    ("scheduling.k8s.io", "priorityclasses"): (
        NAME,
        _of("Value", lambda obj: obj.get("value", 0), type="integer"),
        _of("Global-Default", lambda obj: bool(obj.get("globalDefault")), type="boolean"),
        AGE,
        _of("PreemptionPolicy", lambda obj: obj.get("preemptionPolicy", "PreemptLowerPriority")),
    ),
    (RBAC, "rolebindings"): BINDING,
    (RBAC, "clusterrolebindings"): BINDING,
}
