"""NetworkPolicies."""

import copy
from typing import Any

import pytest

from manta_common.ray.network import network_policies, policy_differs
from tests.unit.manta_common.ray.clusters import HEAD, cluster

OURS = [{"podSelector": {"matchLabels": {"ray.io/cluster": "demo"}}}]
IN, OUT = {"from": [{"ipBlock": {"cidr": "1.0.0.0/8"}}]}, {"to": [{"ipBlock": {"cidr": "2.0.0.0/8"}}]}
RULES = {"ingressRules": [IN], "egressRules": [OUT]}
JOB = {
    "metadata.labels": {"ray.io/job-submission-mode": "K8sJobMode"},
    "metadata.ownerReferences": [
        {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "job", "uid": "u", "controller": True}
    ],
}


def policies(config: dict[str, Any] | None, changes: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    wanted = {} if config is None else {"spec.networkPolicy": config}
    return network_policies(cluster(wanted | (changes or {})))


def test_no_policies_unless_asked_for() -> None:
    assert policies(None) == []


def test_one_for_the_head_and_one_for_each_group() -> None:
    head, small = policies({})
    shared = {
        "ray.io/cluster": "demo",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    assert (head["metadata"]["name"], small["metadata"]["name"]) == ("demo-head", "demo-workers-small")
    assert head["metadata"]["labels"] == shared | {"ray.io/group": "headgroup"}
    assert small["metadata"]["labels"] == shared | {"ray.io/group": "small"}
    assert head["metadata"]["ownerReferences"][0]["controller"] is True
    selector = {"ray.io/cluster": "demo", "ray.io/node-type": "head"}
    assert head["spec"] == {
        "podSelector": {"matchLabels": selector},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": OURS}],
        "egress": [{"to": OURS}],
    }
    assert small["spec"]["podSelector"]["matchLabels"] == {
        "ray.io/cluster": "demo",
        "ray.io/node-type": "worker",
        "ray.io/group": "small",
    }


@pytest.mark.parametrize(
    ("mode", "types"),
    [("DenyAll", ["Ingress", "Egress"]), ("DenyAllIngress", ["Ingress"]), ("DenyAllEgress", ["Egress"])],
)
def test_modes(mode: str, types: list[str]) -> None:
    for policy in policies({"mode": mode}):
        assert policy["spec"]["policyTypes"] == types
        assert {"ingress", "egress"} & policy["spec"].keys() == {kind.lower() for kind in types}


@pytest.mark.parametrize(
    ("config", "head", "worker"),
    [
        pytest.param({"head": RULES}, True, False, id="for the head"),
        pytest.param({"worker": RULES}, False, True, id="for all workers"),
        pytest.param({"workerGroups": [{"groupName": "small", **RULES}]}, False, True, id="for one group"),
        pytest.param(
            {"worker": RULES, "workerGroups": [{"groupName": "small"}]}, False, False, id="a group's own instead"
        ),
        pytest.param(
            {"worker": RULES, "workerGroups": [{"groupName": "x"}]}, False, True, id="another group's do not count"
        ),
    ],
)
def test_the_user_s_rules_follow_ours(config: dict[str, Any], *, head: bool, worker: bool) -> None:
    for policy, has in zip(policies(config), (head, worker), strict=True):
        assert policy["spec"]["ingress"] == [{"from": OURS}, *([IN] if has else [])]
        assert policy["spec"]["egress"] == [{"to": OURS}, *([OUT] if has else [])]


@pytest.mark.parametrize(
    ("changes", "port"),
    [
        pytest.param(JOB, 8265, id="a job's submitter"),
        pytest.param(JOB | {f"{HEAD}.rayStartParams": {"dashboard-port": "9"}}, 9, id="at the dashboard's port"),
        pytest.param(JOB | {"metadata.labels": {"ray.io/job-submission-mode": "HTTPMode"}}, None, id="no other mode"),
        pytest.param(JOB | {"metadata.ownerReferences": []}, None, id="no job"),
    ],
)
def test_a_submitter_reaches_the_head(changes: dict[str, Any], port: int | None) -> None:
    pods = {"ray.io/originated-from-cr-name": "job", "ray.io/originated-from-crd": "RayJob"}
    rule = {"from": [{"podSelector": {"matchLabels": pods}}], "ports": [{"protocol": "TCP", "port": port}]}
    head, small = policies({}, changes)
    assert head["spec"]["ingress"][1:] == ([rule] if port else [])
    assert len(small["spec"]["ingress"]) == 1


def changed(path: str, value: Any) -> dict[str, Any]:
    policy = copy.deepcopy(policies({"head": {"ingressRules": [{"ports": [{"port": 1}]}]}})[0])
    *way, last = path.split(".")
    place: Any = policy
    for step in way:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[last] = value
    return policy


@pytest.mark.parametrize(
    ("found", "differs"),
    [
        pytest.param(changed("metadata.annotations", {"a": "b"}), False, id="annotations are others'"),
        pytest.param(changed("spec.ingress.1.ports", [{"port": 1, "protocol": "TCP"}]), False, id="the usual protocol"),
        pytest.param(changed("spec.ingress.1.ports", [{"port": 1, "protocol": "UDP"}]), True, id="another protocol"),
        pytest.param(changed("metadata.labels", {}), True, id="labels"),
        pytest.param(changed("spec.policyTypes", ["Ingress"]), True, id="types"),
        pytest.param(changed("spec.egress", []), True, id="rules"),
    ],
)
def test_differences(found: dict[str, Any], *, differs: bool) -> None:
    wanted = policies({"head": {"ingressRules": [{"ports": [{"port": 1}]}]}})[0]
    assert policy_differs(wanted, found) is differs
