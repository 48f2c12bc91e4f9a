"""What our types do not know survives a change, and a manifest is read as the API server reads it."""

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from manta_common.api.documents import merged, without_nulls
from manta_common.api.meta import Condition
from manta_common.api.raycluster import RayCluster
from manta_common.api.wire import Time, Wire, to_builtins
from manta_common.crd.definitions import Kind
from tests.manifests.files import CONDITION, TIME
from tests.manifests.generated import any_manifest

CLUSTER: dict[str, Any] = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": "c", "selfLink": "new", "finalizers": ["a"]},
    "spec": {
        "newInSpec": {"deep": [1]},
        "headGroupSpec": {"template": {"spec": {"containers": [{"name": "h", "newInPod": 1}]}}, "newInHead": 1.5},
        "workerGroupSpecs": [
            {"groupName": "a", "template": {}, "replicas": 1, "newInGroup": "a"},
            {"groupName": "b", "template": {}, "replicas": 0, "newInGroup": "b", "scaleStrategy": {"new": True}},
        ],
    },
    "status": {
        "newInStatus": 1,
        "desiredWorkerReplicas": 0,
        "head": {"podIP": "10.0.0.1", "newInHead": {}},
        "conditions": [CONDITION | {"newInCondition": "x"}],
    },
}

GROUPS = "spec.worker_group_specs"


def changed(value: Any, path: str, new: Any) -> Any:
    """The object with one field, however deep, replaced."""
    name, _, rest = path.partition(".")
    if isinstance(value, tuple):
        return tuple(changed(item, rest, new) if str(place) == name else item for place, item in enumerate(value))
    return msgspec.structs.replace(value, **{name: changed(getattr(value, name), rest, new) if rest else new})


def after(path: str, new: Any) -> Any:
    document = json.dumps(CLUSTER).encode()
    before = msgspec.json.decode(document, type=RayCluster)
    return json.loads(merged(document, before, changed(before, path, new)))


def expected(place: str, value: Any) -> dict[str, Any]:
    """The document with one place replaced."""
    document = copy.deepcopy(CLUSTER)
    *steps, last = (int(step) if step.isdigit() else step for step in place.split())
    holder: Any = document
    for step in steps:
        holder = holder[step]
    holder[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "new", "place", "value"),
    [
        pytest.param("metadata.finalizers", ("a", "b"), "metadata finalizers", ["a", "b"], id="a finalizer"),
        pytest.param("spec.suspend", True, "spec suspend", True, id="a field that was absent"),
        pytest.param(f"{GROUPS}.1.suspend", True, "spec workerGroupSpecs 1 suspend", True, id="in one group, set"),
        pytest.param(f"{GROUPS}.0.replicas", 5, "spec workerGroupSpecs 0 replicas", 5, id="in one group, changed"),
        pytest.param(
            f"{GROUPS}.1.scale_strategy.workers_to_delete",
            ("p",),
            "spec workerGroupSpecs 1 scaleStrategy",
            {"new": True, "workersToDelete": ["p"]},
            id="deep in one group",
        ),
        pytest.param("status.head.pod_ip", "10.0.0.2", "status head podIP", "10.0.0.2", id="in the status, changed"),
        pytest.param("status.head.pod_ip", "", "status head", {"newInHead": {}}, id="in the status, taken away"),
    ],
)
def test_only_what_was_changed_changes(path: str, new: Any, place: str, value: Any) -> None:
    assert after(path, new) == expected(place, value)


def test_an_unchanged_object_keeps_its_very_bytes() -> None:
    document = json.dumps(CLUSTER, indent=3).encode()
    before = msgspec.json.decode(document, type=RayCluster)
    assert merged(document, before, before) is document


def test_conditions_are_matched_by_their_type() -> None:
    now = msgspec.json.decode(f'"{TIME}"', type=Time)
    new = Condition(type="New", status="True", reason="R", message="", last_transition_time=now)
    document = json.dumps(CLUSTER).encode()
    before = msgspec.json.decode(document, type=RayCluster)
    later = changed(
        before, "status.conditions", (new, msgspec.structs.replace(before.status.conditions[0], status="False"))
    )
    found = json.loads(merged(document, before, later))["status"]["conditions"]
    assert [one["type"] for one in found] == ["New", "Ready"]
    assert found[1] == CONDITION | {"newInCondition": "x", "status": "False"}


def test_groups_are_matched_by_their_name() -> None:
    document = json.dumps(CLUSTER).encode()
    before = msgspec.json.decode(document, type=RayCluster)
    later = changed(before, "spec.worker_group_specs", before.spec.worker_group_specs[1:])
    found = json.loads(merged(document, before, later))["spec"]["workerGroupSpecs"]
    assert [group["newInGroup"] for group in found] == ["b"]


def written(value: Wire) -> Any:
    """As Go writes it. The encoder leaves out the very default only: a float of 0.0 that was given is equal to it."""
    return _without_zeros(to_builtins(value))


def _without_zeros(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: one for name, one in value.items() if not (isinstance(one, float) and one == 0)}
        return {name: _without_zeros(one) for name, one in kept.items()}
    return [_without_zeros(one) for one in value] if isinstance(value, (list, tuple)) else value


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(any_manifest(), any_manifest())
def test_any_change_arrives_and_no_unknown_field_is_lost(
    one: tuple[Kind, dict[str, Any]], other: tuple[Kind, dict[str, Any]]
) -> None:
    kind, manifest = one
    document = json.dumps(manifest | {"unknown": {"kept": True}}).encode()
    before: Wire = msgspec.json.decode(document, type=kind.type)
    same_kind = other[1] if other[0] == kind else {}
    later: Wire = msgspec.json.decode(json.dumps(same_kind), type=kind.type)
    found = merged(document, before, later)
    assert written(msgspec.json.decode(found, type=kind.type)) == written(later)
    assert json.loads(found)["unknown"] == {"kept": True}


@pytest.mark.parametrize(
    ("manifest", "taken"),
    [
        pytest.param({"a": None, "b": {"c": None, "d": 0}}, {"b": {"d": 0}}, id="in objects"),
        pytest.param({"a": [None, {"b": None}]}, {"a": [None, {}]}, id="not in lists"),
        pytest.param("text", "text", id="nothing to do"),
    ],
)
def test_nulls_count_as_absent(manifest: Any, taken: Any) -> None:
    assert without_nulls(manifest) == taken
