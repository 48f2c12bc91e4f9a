"""The autoscaler's account, role and binding."""

from manta_common.ray.rbac import names_own_account, role, role_binding, service_account, service_account_lookup
from tests.unit.manta_common.ray.clusters import HEAD, cluster

LABELS = {
    "ray.io/cluster": "demo",
    "app.kubernetes.io/name": "kuberay",
    "app.kubernetes.io/created-by": "kuberay-operator",
}
ACCOUNT = f"{HEAD}.template.spec.serviceAccountName"
LONG = "a" * 53


def test_the_account() -> None:
    made = service_account(cluster())
    assert (made["apiVersion"], made["kind"], made["metadata"]["name"]) == ("v1", "ServiceAccount", "demo")
    assert (made["metadata"]["namespace"], made["metadata"]["labels"]) == ("team", LABELS)
    assert made["metadata"]["ownerReferences"][0]["uid"] == "12345678-uid"


def test_the_role_allows_what_the_autoscaler_does() -> None:
    made = role(cluster())
    assert (made["metadata"]["name"], made["metadata"]["labels"]) == ("demo", LABELS)
    assert [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in made["rules"]] == [
        ([""], ["pods"], ["get", "list", "watch", "patch"]),
        ([""], ["pods/resize"], ["patch"]),
        (["ray.io"], ["rayclusters"], ["get", "patch"]),
    ]


def test_the_binding_gives_the_role_to_the_account() -> None:
    made = role_binding(cluster({ACCOUNT: "mine"}))
    assert (made["metadata"]["name"], made["metadata"]["labels"]) == ("demo", LABELS)
    assert made["subjects"] == [{"kind": "ServiceAccount", "name": "mine", "namespace": "team"}]
    assert made["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "demo"}


def test_long_names_are_looked_for_as_they_are_and_made_shorter() -> None:
    made = cluster({"metadata.name": LONG})
    assert service_account_lookup(made) == LONG
    assert service_account(made)["metadata"]["name"] == role(made)["metadata"]["name"] == "a" * 50
    assert role_binding(made)["subjects"][0]["name"] == role_binding(made)["roleRef"]["name"] == "a" * 50


def test_an_account_of_the_user_s_is_looked_for_by_its_name() -> None:
    assert service_account_lookup(cluster({ACCOUNT: "mine"})) == "mine"
    assert names_own_account(cluster({ACCOUNT: "mine"}))
    assert not names_own_account(cluster())
