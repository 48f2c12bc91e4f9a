"""What becomes of custom resources whose definition goes."""

import secrets

import pytest

from manta_common.keys import Key
from manta_common.kinds import CRD, Kind
from tests.contract.api.api import Api
from tests.contract.api.steps import define, find, is_served, merge, wait_for, wait_until_gone
from tests.parts.cluster import ApiError

HOLD = "contract.manta.example/hold"


@pytest.fixture
def brief(api: Api) -> Kind:
    """A kind that a test may stop serving."""
    word = f"brief{secrets.token_hex(3)}"
    kind = Kind(word, word.capitalize(), f"{word}s", "brief.contract.manta.example")
    define(api, kind, {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    return kind


def definition_key(kind: Kind) -> Key:
    return Key("", f"{kind.plural}.{kind.group}")


def wait_until_unknown(api: Api, kind: Kind) -> None:
    """Return once nothing of a kind is served: a moment after its definition is gone."""
    api.eventually(f"{kind.plural} are not served", lambda: is_served(api, kind) is None or None)


def make(api: Api, kind: Kind, space: str, **metadata: object) -> None:
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "it", **metadata}}
    api.create(kind, space, body)


def test_a_definition_takes_its_objects_along(api: Api, space: str, brief: Kind) -> None:
    make(api, brief, space)
    api.delete(CRD, definition_key(brief))
    wait_until_gone(api, CRD, definition_key(brief))
    wait_until_unknown(api, brief)
    with pytest.raises(ApiError, match="404"):
        api.list(brief, space)


def test_a_held_object_holds_its_definition(api: Api, space: str, brief: Kind) -> None:
    make(api, brief, space, finalizers=[HOLD])
    api.delete(CRD, definition_key(brief))
    wait_for(api, brief, Key(space, "it"), "it goes", lambda obj: "deletionTimestamp" in obj["metadata"])
    held = api.get(CRD, definition_key(brief))
    assert held["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    conditions = {one["type"]: (one["status"], one["reason"]) for one in held["status"]["conditions"]}
    assert conditions["Terminating"] == ("True", "InstanceDeletionInProgress")
    merge(api, brief, Key(space, "it"), {"metadata": {"finalizers": None}})
    wait_until_gone(api, CRD, definition_key(brief))


def test_a_kind_can_be_defined_anew_with_nothing_left_of_the_old(api: Api, space: str, brief: Kind) -> None:
    make(api, brief, space)
    api.delete(CRD, definition_key(brief))
    wait_until_gone(api, CRD, definition_key(brief))
    wait_until_unknown(api, brief)
    define(api, brief, {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    assert find(api, brief, Key(space, "it")) is None
    api.delete(CRD, definition_key(brief))
