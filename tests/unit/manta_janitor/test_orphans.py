"""Whose an object is, and when nobody's."""

from typing import Any

import msgspec
import pytest

from manta_common.keys import Key
from manta_common.kinds import JOB, RAYCLUSTER, RAYJOB
from manta_janitor.policies.orphans import Belonging, Child, is_there, owner_of


def child(*owners: dict[str, Any], **labels: str) -> Child:
    metadata = {"name": "x", "namespace": "ns", "ownerReferences": owners, "labels": labels}
    return msgspec.convert({"metadata": metadata}, Child)


def owner(kind: str, *, controller: bool = True) -> dict[str, Any]:
    return {"kind": kind, "name": "a", "uid": "u", "controller": controller}


CLUSTER = {"ray.io/cluster": "c"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(child(owner("RayCluster")), Belonging(RAYCLUSTER, Key("ns", "a"), "u"), id="a cluster's"),
        pytest.param(child(owner("Job"), **CLUSTER), Belonging(JOB, Key("ns", "a"), "u"), id="owner over label"),
        pytest.param(
            child(owner("RayCluster", controller=False), owner("RayJob")),
            Belonging(RAYJOB, Key("ns", "a"), "u"),
            id="the controller first",
        ),
        pytest.param(child(**CLUSTER), Belonging(RAYCLUSTER, Key("ns", "c")), id="by label"),
        pytest.param(child(owner("ReplicaSet"), **CLUSTER), None, id="somebody else's"),
        pytest.param(child(), None, id="nobody's"),
    ],
)
def test_whose_it_is(given: Child, expected: Belonging | None) -> None:
    assert owner_of(given) == expected


@pytest.mark.parametrize(
    ("uid", "found", "there"),
    [("u", "u", True), ("u", "v", False), ("u", None, False), ("", "v", True), ("", None, False)],
)
def test_whether_the_owner_is_there(uid: str, found: str | None, there: bool) -> None:
    assert is_there(Belonging(RAYCLUSTER, Key("ns", "a"), uid), found) == there
