"""The account of Ray's autoscaler and what it may do."""

from manta_common.api import names
from manta_common.api.raycluster import RayCluster
from manta_common.ray.cluster import Manifest, app_labels, child, head_template

_RBAC_GROUP = "rbac.authorization.k8s.io"
_RBAC = f"{_RBAC_GROUP}/v1"


def service_account_lookup(cluster: RayCluster) -> str:
    """The name by which the autoscaler's account is looked for, which is not shortened."""
    return head_template(cluster).spec.service_account_name or cluster.metadata.name


def names_own_account(cluster: RayCluster) -> bool:
    """Whether the user named an account, and so has to make it."""
    return bool(head_template(cluster).spec.service_account_name)


def service_account(cluster: RayCluster) -> Manifest:
    """The autoscaler's account."""
    return child(cluster, "v1", "ServiceAccount", name=_account(cluster), labelled=app_labels(cluster))


def role(cluster: RayCluster) -> Manifest:
    """What the autoscaler may do: see and patch pods, resize them, and change its cluster."""
    name = names.autoscaler_role(cluster.metadata.name)
    return child(cluster, _RBAC, "Role", name=name, labelled=app_labels(cluster)) | {
        "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
            {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]},
            {"apiGroups": [names.API_GROUP], "resources": ["rayclusters"], "verbs": ["get", "patch"]},
        ]
    }


def role_binding(cluster: RayCluster) -> Manifest:
    """The role given to the account."""
    name = names.autoscaler_role(cluster.metadata.name)
    account = {"kind": "ServiceAccount", "name": _account(cluster), "namespace": cluster.metadata.namespace}
    return child(cluster, _RBAC, "RoleBinding", name=name, labelled=app_labels(cluster)) | {
        "subjects": [account],
        "roleRef": {"apiGroup": _RBAC_GROUP, "kind": "Role", "name": name},
    }


def _account(cluster: RayCluster) -> str:
    return names.autoscaler_account(cluster.metadata.name, head_template(cluster).spec.service_account_name)
