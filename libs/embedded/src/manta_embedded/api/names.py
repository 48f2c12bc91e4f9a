"""Short names, categories and the order of groups of what is built in."""

from manta_embedded.store.objects import Obj

ORDER = (
    "",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "batch",
    "networking.k8s.io",
    "rbac.authorization.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
)


def _named(singular: str, *short: str, categories: tuple[str, ...] = ()) -> Obj:
    return {"singular": singular, "shortNames": list(short), "categories": list(categories)}


NAMES: dict[tuple[str, str], Obj] = {
    ("", "pods"): _named("pod", "po", categories=("all",)),
    ("", "services"): _named("service", "svc", categories=("all",)),
    ("", "configmaps"): _named("configmap", "cm"),
    ("", "serviceaccounts"): _named("serviceaccount", "sa"),
    ("", "namespaces"): _named("namespace", "ns"),
    ("", "nodes"): _named("node", "no"),
    ("", "events"): _named("event", "ev"),
    ("events.k8s.io", "events"): _named("event", "ev"),
    ("", "persistentvolumeclaims"): _named("persistentvolumeclaim", "pvc"),
    ("", "resourcequotas"): _named("resourcequota", "quota"),
    ("batch", "jobs"): _named("job", categories=("all",)),
    ("networking.k8s.io", "ingresses"): _named("ingress", "ing"),
    ("networking.k8s.io", "networkpolicies"): _named("networkpolicy", "netpol"),
    ("scheduling.k8s.io", "priorityclasses"): _named("priorityclass", "pc"),
    ("apiextensions.k8s.io", "customresourcedefinitions"): _named(
        "customresourcedefinition", "crd", "crds", categories=("api-extensions",)
    ),
}
