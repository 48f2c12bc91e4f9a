"""Network policies are made, kept as they should be, and deleted when nobody asks for them any more."""

from typing import Any

import msgspec

from manta_cluster_reconciler.actions import Action, Create, Delete, Halt, Patch
from manta_cluster_reconciler.observed import Fetched, observed
from manta_cluster_reconciler.policies import network
from manta_cluster_reconciler.rules import Rules
from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayCluster
from manta_common.ray.network import network_policies
from manta_common.ray.settings import RaySettings
from tests.examples.example import Json
from tests.unit.manta_cluster_reconciler.scenes import RULES, cluster

ON = Rules(ray=RaySettings(gates=Gates(network_policy=True)))
SHUT = cluster({"networkPolicy": {"mode": "DenyAll"}})


def stored(of: RayCluster, **metadata: Any) -> list[Json]:
    found: list[Json] = msgspec.to_builtins(network_policies(of))
    for body in found:
        body["metadata"] |= {"uid": f"uid-of-{body['metadata']['name']}", "resourceVersion": "9", **metadata}
    return found


def decided(of: RayCluster, *found: Json, rules: Rules = ON) -> list[Action]:
    return list(network.actions(observed(of, (), (), fetched=Fetched(policies=found)), rules))


def test_head_and_groups_get_their_policies() -> None:
    found = decided(SHUT)
    assert [one.body["metadata"]["name"] for one in found if isinstance(one, Create)] == [
        "demo-head",
        "demo-workers-small",
    ]
    assert decided(SHUT, *stored(SHUT)) == []
    assert decided(SHUT, rules=RULES) == []


def test_a_policy_is_brought_up_to_date() -> None:
    head, workers = stored(SHUT)
    head["spec"]["policyTypes"] = ["Ingress"]
    head["spec"]["other"] = 1
    [action] = decided(SHUT, head, workers)
    assert isinstance(action, Patch)
    assert action.body["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert action.body["spec"]["other"] is None
    assert action.told.done is not None
    assert action.told.done.reason == "UpdatedNetworkPolicy"


def test_labels_that_somebody_added_to_a_policy_are_taken_off() -> None:
    head, workers = stored(SHUT)
    wanted = dict(head["metadata"]["labels"])
    head["metadata"]["labels"] |= {"team": "a", "ray.io/group": "other"}
    [action] = decided(SHUT, head, workers)
    assert isinstance(action, Patch)
    assert action.body["metadata"]["labels"] == {"team": None, **wanted}


def test_policies_that_nobody_asks_for_any_more_are_deleted() -> None:
    found = decided(cluster(), *stored(SHUT))
    assert [one.uid for one in found if isinstance(one, Delete)] == ["uid-of-demo-head", "uid-of-demo-workers-small"]


def test_somebody_elses_policy_is_neither_changed_nor_deleted() -> None:
    foreign = stored(SHUT, ownerReferences=[])
    found = decided(SHUT, *foreign)
    assert all(
        isinstance(one, Halt) and one.notice and one.notice.reason == "NetworkPolicyNameCollision" for one in found
    )
    assert decided(cluster(), *foreign) == []
