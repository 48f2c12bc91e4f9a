"""The roles that every cluster has from its beginning."""

from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_embedded.store.builtin import CLUSTERROLE, CLUSTERROLEBINDING, RBAC
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store

READ = ["get", "list", "watch"]
WRITE = ["create", "delete", "deletecollection", "patch", "update"]
EVERYTHING: list[Obj] = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
PATHS = [
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
]
SELF = {
    "authorization.k8s.io": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    "authentication.k8s.io": ["selfsubjectreviews"],
}
VIEWED: list[Obj] = [
    {
        "apiGroups": [""],
        "resources": [
            "configmaps",
            "events",
            "namespaces",
            "persistentvolumeclaims",
            "pods",
            "pods/log",
            "pods/status",
            "resourcequotas",
            "serviceaccounts",
            "services",
        ],
    },
    {"apiGroups": ["batch"], "resources": ["jobs", "jobs/status"]},
    {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses", "networkpolicies"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"]},
    {"apiGroups": ["ray.io"], "resources": ["*"]},
]
EDITED: list[Obj] = [
    *VIEWED,
    {
        "apiGroups": [""],
        "resources": [
            "secrets",
            *(f"pods/{part}" for part in ("attach", "exec", "portforward", "proxy", "eviction")),
            "services/proxy",
        ],
    },
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]},
]
ROLES: Obj = {"apiGroups": [RBAC], "resources": ["roles", "rolebindings"]}


def grant(store: Store) -> None:
    """Have the roles, and who has them; what is there already stays as it is."""
    for name, rules in _roles().items():
        _have(store, CLUSTERROLE, name, {"rules": rules})
    for name, (role, group) in {
        "cluster-admin": ("cluster-admin", "system:masters"),
        "system:basic-user": ("system:basic-user", "system:authenticated"),
        "system:discovery": ("system:discovery", "system:authenticated"),
        "system:public-info-viewer": ("system:public-info-viewer", "system:unauthenticated"),
    }.items():
        reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
        subject = {"apiGroup": RBAC, "kind": "Group", "name": group}
        _have(store, CLUSTERROLEBINDING, name, {"roleRef": reference, "subjects": [subject]})


def _roles() -> dict[str, list[Obj]]:
    return {
        "cluster-admin": EVERYTHING,
        "admin": [{**rule, "verbs": [*READ, *WRITE]} for rule in (*EDITED, ROLES)],
        "edit": [{**rule, "verbs": [*READ, *WRITE]} for rule in EDITED],
        "view": [{**rule, "verbs": READ} for rule in VIEWED],
        "system:basic-user": [
            {"apiGroups": [group], "resources": resources, "verbs": ["create"]} for group, resources in SELF.items()
        ],
        "system:discovery": [{"nonResourceURLs": PATHS, "verbs": ["get"]}],
        "system:public-info-viewer": [
            {"nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"], "verbs": ["get"]}
        ],
    }


def _have(store: Store, kind: Kind, name: str, body: Obj) -> None:
    if store.find(kind, Key("", name)) is None:
        labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
        store.create(kind, "", {"metadata": {"name": name, "labels": labels}, **body})
