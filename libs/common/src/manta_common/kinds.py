"""The kinds of Kubernetes objects that Manta reads or writes, and where the API server keeps them."""

import msgspec

from manta_common.keys import Key


class Kind(msgspec.Struct, frozen=True):
    """One kind: `name` is its word on the bus, the rest is the API's."""

    name: str
    kind: str
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As it stands in an object."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Where the API server has the collection, one object, or a part of it."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        place = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{place}/{self.plural}{tail}"

    def object_path(self, key: Key, subresource: str = "") -> str:
        """Where the API server has one object."""
        return self.path(key.namespace, key.name, subresource)


RAYCLUSTER = Kind("raycluster", "RayCluster", "rayclusters", "ray.io")
RAYJOB = Kind("rayjob", "RayJob", "rayjobs", "ray.io")
RAYSERVICE = Kind("rayservice", "RayService", "rayservices", "ray.io")
RAYCRONJOB = Kind("raycronjob", "RayCronJob", "raycronjobs", "ray.io")
POD = Kind("pod", "Pod", "pods")
SERVICE = Kind("service", "Service", "services")
SECRET = Kind("secret", "Secret", "secrets")
CONFIGMAP = Kind("configmap", "ConfigMap", "configmaps")
SERVICEACCOUNT = Kind("serviceaccount", "ServiceAccount", "serviceaccounts")
PVC = Kind("persistentvolumeclaim", "PersistentVolumeClaim", "persistentvolumeclaims")
NAMESPACE = Kind("namespace", "Namespace", "namespaces", namespaced=False)
NODE = Kind("node", "Node", "nodes", namespaced=False)
JOB = Kind("job", "Job", "jobs", "batch")
ROLE = Kind("role", "Role", "roles", "rbac.authorization.k8s.io")
ROLEBINDING = Kind("rolebinding", "RoleBinding", "rolebindings", "rbac.authorization.k8s.io")
INGRESS = Kind("ingress", "Ingress", "ingresses", "networking.k8s.io")
NETWORKPOLICY = Kind("networkpolicy", "NetworkPolicy", "networkpolicies", "networking.k8s.io")
ENDPOINTSLICE = Kind("endpointslice", "EndpointSlice", "endpointslices", "discovery.k8s.io")
GATEWAY = Kind("gateway", "Gateway", "gateways", "gateway.networking.k8s.io")
HTTPROUTE = Kind("httproute", "HTTPRoute", "httproutes", "gateway.networking.k8s.io")
ROUTE = Kind("route", "Route", "routes", "route.openshift.io")
ISSUER = Kind("issuer", "Issuer", "issuers", "cert-manager.io")
CERTIFICATE = Kind("certificate", "Certificate", "certificates", "cert-manager.io")
VOLCANO_PODGROUP = Kind("volcanopodgroup", "PodGroup", "podgroups", "scheduling.volcano.sh", "v1beta1")
PLUGINS_PODGROUP = Kind("pluginspodgroup", "PodGroup", "podgroups", "scheduling.x-k8s.io", "v1alpha1")
WORKLOAD = Kind("workload", "Workload", "workloads", "scheduling.k8s.io", "v1alpha2")
WORKLOAD_PODGROUP = Kind("workloadpodgroup", "PodGroup", "podgroups", "scheduling.k8s.io", "v1alpha2")
EVENT = Kind("event", "Event", "events", "events.k8s.io")
LEASE = Kind("lease", "Lease", "leases", "coordination.k8s.io")
CRD = Kind(
    "customresourcedefinition",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    "apiextensions.k8s.io",
    namespaced=False,
)
