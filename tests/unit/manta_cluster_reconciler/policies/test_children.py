"""The children beside pods are made once, in order, and only where the spec asks for them."""

from typing import Any

import msgspec
import pytest

from manta_cluster_reconciler.actions import Action, Create, CreateToken, Halt, Patch, Tell
from manta_cluster_reconciler.observed import Fetched, Observed, observed
from manta_cluster_reconciler.policies import children, needs
from manta_cluster_reconciler.rules import Rules
from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayCluster
from manta_common.ray.ingress import ingress
from manta_common.ray.settings import RaySettings
from tests.examples import manifests
from tests.examples.example import ALL_GATES, Json
from tests.unit.manta_cluster_reconciler.scenes import RULES, cluster, flat, service

ROUTES = Rules(ray=RaySettings(openshift=True))
STORED = Rules(ray=RaySettings(gates=Gates(embedded_storage=True)))
AUTOSCALED: Json = {"enableInTreeAutoscaling": True}
INGRESS: Json = manifests.head(enableIngress=True)
ROCKSDB: Json = {"gcsFaultToleranceOptions": {"backend": "rocksdb"}}
ENOUGH: Json = {"metadata": {"name": "x", "uid": "u", "resourceVersion": "1"}}


def seen(of: RayCluster, rules: Rules = RULES, *, there: bool = False, fresh: bool = True, **found: Any) -> Observed:
    """The cluster with its head Service; what must be asked for is there, or not, or is given by kind."""
    wanted = {
        (kind.name, name): found.get(kind.name, ENOUGH if there else None) for kind, name in needs.needs(of, rules)
    }
    return observed(of, (), [service(of)], fetched=Fetched(objects=wanted, fresh=fresh))


def decided(of: RayCluster, rules: Rules = RULES, **found: Any) -> list[Action]:
    return flat(children.phases(seen(of, rules, **found), rules))


def made(actions: list[Action]) -> list[str]:
    return [action.body["kind"] for action in actions if isinstance(action, Create)]


@pytest.mark.parametrize(
    ("of", "rules", "kinds"),
    [
        pytest.param(cluster(), RULES, [], id="a plain cluster"),
        pytest.param(
            cluster(AUTOSCALED), RULES, ["ServiceAccount", "Role", "RoleBinding"], id="the autoscaler's account"
        ),
        pytest.param(cluster(INGRESS), RULES, ["Ingress"], id="an Ingress"),
        pytest.param(cluster(INGRESS), ROUTES, ["Route"], id="a Route on OpenShift"),
        pytest.param(cluster(manifests.worker(numOfHosts=2)), RULES, ["Service"], id="a headless Service"),
        pytest.param(
            cluster(annotations={"ray.io/enable-serve-service": "true"}), RULES, ["Service"], id="a serve Service"
        ),
        pytest.param(cluster(ROCKSDB), STORED, ["PersistentVolumeClaim"], id="a claim"),
    ],
)
def test_what_is_missing_is_made_and_what_is_there_is_not(of: RayCluster, rules: Rules, kinds: list[str]) -> None:
    assert made(decided(of, rules)) == kinds
    names = {(kind.kind, name) for kind, name in needs.needs(of, rules)}
    bodies = [one.body for one in decided(of, rules) if isinstance(one, Create)]
    assert {(body["kind"], body["metadata"]["name"]) for body in bodies} == names


@pytest.mark.parametrize(
    "of",
    [cluster(AUTOSCALED), cluster(manifests.worker(numOfHosts=2)), cluster({"authOptions": {"mode": "token"}})],
    ids=["account", "headless Service", "token"],
)
def test_what_is_there_is_left_alone(of: RayCluster) -> None:
    assert decided(of, there=True) == []


def test_the_head_service_comes_first_of_what_everybody_has() -> None:
    of = cluster()
    [action] = flat(children.phases(observed(of, (), ()), RULES))
    assert isinstance(action, Create)
    assert action.exclusive
    assert action.body["metadata"]["name"] == "demo-head-svc"
    assert action.told.done is not None
    assert (action.told.done.reason, action.told.done.note) == ("CreatedService", "Created service ns/demo-head-svc")
    assert action.told.failed is not None
    assert action.told.failed.note == "Failed creating service ns/demo-head-svc"


def test_two_head_services_are_for_a_person_to_sort_out() -> None:
    of = cluster()
    [action] = flat(children.phases(observed(of, (), [service(of)] * 2), RULES))
    assert isinstance(action, Halt)


def test_an_account_that_the_user_names_must_be_there() -> None:
    of = cluster(manifests.both(AUTOSCALED, manifests.head_pod(containers=[manifests.HEAD], serviceAccountName="mine")))
    [action] = decided(of)
    assert isinstance(action, Halt)
    assert action.notice is not None
    assert action.notice.reason == "AutoscalerServiceAccountNotFound"
    assert "ServiceAccount mine is not found" in action.notice.note
    assert made(decided(of, serviceaccount=ENOUGH)) == ["Role", "RoleBinding"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"mode": "token"}, 1, id="asked for"),
        pytest.param({}, 1, id="without a word of the mode too"),
        pytest.param({"mode": "disabled"}, 0, id="turned off"),
        pytest.param({"mode": "token", "secretName": "mine"}, 0, id="the user's own"),
        pytest.param({"mode": "token", "enableK8sTokenAuth": True}, 0, id="Kubernetes checks"),
    ],
)
def test_a_token_is_made(options: Json, expected: int) -> None:
    found = decided(cluster({"authOptions": options}))
    assert found == [CreateToken("demo")] * expected


def stored(of: RayCluster, **changes: Any) -> Json:
    """The Ingress as the API server has it."""
    body: Json = msgspec.to_builtins(ingress(of))
    body["metadata"] |= {"resourceVersion": "9"}
    return body | changes


def test_an_ingress_that_is_as_it_should_be_is_left_alone() -> None:
    of = cluster(INGRESS)
    assert decided(of, ingress=stored(of)) == []


def test_an_ingress_is_brought_up_to_date() -> None:
    of = cluster(INGRESS)
    [action] = decided(of, ingress=stored(of, spec={"rules": []}))
    assert isinstance(action, Patch)
    assert action.version == "9"
    assert action.told.done is not None
    assert action.told.done.note == "Updated ingress ns/demo-head-ingress"


@pytest.mark.parametrize("fresh", [True, False])
def test_somebody_elses_ingress_is_not_touched_and_told_of_once(fresh: bool) -> None:
    of = cluster(INGRESS)
    foreign = {"metadata": {"name": "demo-head-ingress", "resourceVersion": "9"}, "spec": {}}
    found = decided(of, ingress=foreign, fresh=fresh)
    assert len(found) == fresh
    if fresh:
        assert isinstance(found[0], Tell)
        assert found[0].notice.note.endswith("already exists and is not owned by this RayCluster; not modifying it")


def test_a_serve_service_needs_a_port() -> None:
    ports = [{"name": "dashboard", "containerPort": 8265}]
    of = cluster(manifests.head_container(ports=ports), annotations={"ray.io/enable-serve-service": "true"})
    [action] = decided(of)
    assert isinstance(action, Halt)
    assert action.message.startswith("Please specify a port named 'serve'")


def claim(of: RayCluster, size: str = "1Gi", *, owned: bool = True) -> Json:
    owners = [{"uid": of.metadata.uid, "controller": True}] if owned else []
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": "demo-gcs-pvc", "resourceVersion": "9", "ownerReferences": owners}, "spec": spec}


def test_a_claim_of_another_size_is_told_of_and_kept() -> None:
    of = cluster(ROCKSDB)
    assert decided(of, STORED, persistentvolumeclaim=claim(of)) == []
    [action] = decided(of, STORED, persistentvolumeclaim=claim(of, "5Gi"))
    assert isinstance(action, Tell)
    assert action.notice.action == "Update"
    assert "cannot be reconfigured in place (size: want 1Gi, have 5Gi)" in action.notice.note


@pytest.mark.parametrize(
    ("policy", "owned", "owners"),
    [
        pytest.param("DeleteWithCluster", False, 1, id="it gets its owner"),
        pytest.param("Retain", True, 0, id="it loses its owner"),
        pytest.param("Retain", False, None, id="it has none"),
        pytest.param("DeleteWithCluster", True, None, id="it has one"),
    ],
)
def test_a_claim_goes_with_its_cluster_or_stays(policy: str, owned: bool, owners: int | None) -> None:
    of = cluster({"gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": {"deletionPolicy": policy}}})
    found = decided(of, STORED, persistentvolumeclaim=claim(of, owned=owned))
    if owners is None:
        assert found == []
    else:
        [action] = found
        assert isinstance(action, Patch)
        assert len(action.body["metadata"]["ownerReferences"]) == owners


def test_a_claim_that_the_user_names_must_be_there_but_nothing_waits_for_it() -> None:
    of = cluster({"gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": {"claimName": "mine"}}})
    [action] = decided(of, STORED)
    assert isinstance(action, Tell)
    assert action.notice.action == "Validate"
    assert 'ClaimName "mine" not found in namespace ns' in action.notice.note
    assert decided(of, STORED, there=True) == []


def test_needs_cover_every_child_with_all_gates_on() -> None:
    everything = manifests.both(AUTOSCALED, INGRESS, {"tlsOptions": {"enabled": True}}, ROCKSDB)
    of = cluster(everything)
    found = {kind.kind for kind, _ in needs.needs(of, Rules(ray=RaySettings(gates=ALL_GATES)))}
    assert found >= {"Role", "Ingress", "Issuer", "Certificate", "Secret", "PersistentVolumeClaim"}
