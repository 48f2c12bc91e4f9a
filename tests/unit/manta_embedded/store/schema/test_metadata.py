"""Metadata in good form, for every kind."""

from typing import Any

import pytest

from manta_common.kinds import CONFIGMAP, NAMESPACE, ROLE, SERVICE, Kind
from manta_embedded.store.builtin import builtin_kinds
from manta_embedded.store.kinds import Served
from manta_embedded.store.schema.metadata import ANNOTATION_BYTES, creation_causes, update_causes
from tests.unit.manta_embedded.store.schema.reviews import gadgets

KINDS = {served.kind: served for served in builtin_kinds()}
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}


def said(kind: Kind, **metadata: Any) -> list[str]:
    return [str(cause) for cause in creation_causes(KINDS[kind], {"metadata": {"name": "it", **metadata}})]


@pytest.mark.parametrize(
    ("kind", "metadata", "field", "message"),
    [
        pytest.param(CONFIGMAP, {"name": "A"}, "metadata.name", f'Invalid value: "A": {SUBDOMAIN}', id="capitals"),
        pytest.param(
            CONFIGMAP, {"name": ""}, "metadata.name", "Required value: name or generateName is required", id="no name"
        ),
        pytest.param(
            CONFIGMAP,
            {"generateName": "AB-"},
            "metadata.generateName",
            None,
            id="a stem that no name can have",
        ),
        pytest.param(
            NAMESPACE, {"name": "a.b"}, "metadata.name", 'Invalid value: "a.b": must not contain dots', id="dots"
        ),
        pytest.param(SERVICE, {"name": "x" * 64}, "metadata.name", None, id="a name too long for a host"),
        pytest.param(
            ROLE, {"name": "a/b"}, "metadata.name", "Invalid value: \"a/b\": may not contain '/'", id="a slash"
        ),
        pytest.param(CONFIGMAP, {"labels": {"a": "x" * 64}}, "metadata.labels", None, id="a label value too long"),
        pytest.param(
            CONFIGMAP,
            {"labels": {"/a": ""}},
            "metadata.labels",
            'Invalid value: "/a": prefix part must be non-empty',
            id="a label key without its prefix",
        ),
        pytest.param(
            CONFIGMAP,
            {"annotations": {"a": "x" * ANNOTATION_BYTES}},
            "metadata.annotations",
            f"Too long: may not be more than {ANNOTATION_BYTES} bytes",
            id="annotations too large",
        ),
        pytest.param(
            CONFIGMAP,
            {"ownerReferences": [OWNER | {"uid": ""}]},
            "metadata.ownerReferences.uid",
            'Invalid value: "": must not be empty',
            id="an owner without a uid",
        ),
        pytest.param(
            CONFIGMAP,
            {"finalizers": ["hold"]},
            "metadata.finalizers[0]",
            'Invalid value: "hold": name is neither a standard finalizer name nor is it fully qualified',
            id="a finalizer without a domain",
        ),
        pytest.param(
            CONFIGMAP,
            {"finalizers": ["orphan", "foregroundDeletion"]},
            "metadata.finalizers",
            'Invalid value: ["orphan","foregroundDeletion"]: '
            "finalizer orphan and foregroundDeletion cannot be both set",
            id="two finalizers that exclude each other",
        ),
    ],
)
def test_bad_form_is_told(kind: Kind, metadata: dict[str, Any], field: str, message: str | None) -> None:
    (found,) = said(kind, **metadata)
    assert found.startswith(f"{field}: ")
    assert message is None or found == f"{field}: {message}"


@pytest.mark.parametrize(
    ("kind", "metadata"),
    [
        pytest.param(CONFIGMAP, {"name": "a.b-c"}, id="dots and dashes"),
        pytest.param(CONFIGMAP, {"generateName": "some-"}, id="a stem that ends in a dash"),
        pytest.param(ROLE, {"name": "Some:Role"}, id="roles may be called nearly anything"),
        pytest.param(CONFIGMAP, {"annotations": {"Example.com/Key": ""}}, id="annotations with capitals"),
        pytest.param(CONFIGMAP, {"finalizers": ["example.com/hold", "orphan"]}, id="finalizers"),
    ],
)
def test_good_form_is_accepted(kind: Kind, metadata: dict[str, Any]) -> None:
    assert said(kind, **metadata) == []


def test_only_one_owner_controls() -> None:
    owners = [OWNER | {"controller": True}, OWNER | {"name": "p", "uid": "v", "controller": True}]
    (found,) = said(CONFIGMAP, ownerReferences=owners)
    assert found.endswith(
        'Only one reference can have Controller set to true. Found "true" in references for ConfigMap/o and ConfigMap/p'
    )


def test_custom_resources_take_any_finalizer() -> None:
    served: Served = gadgets({"type": "object"})
    assert not list(creation_causes(served, {"metadata": {"name": "it", "finalizers": ["hold"]}}))


def test_an_object_that_is_being_deleted_takes_no_new_finalizer() -> None:
    old = {"metadata": {"name": "it", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}}
    new = {"metadata": {**old["metadata"], "finalizers": ["a/b", "c/d"]}}
    (found,) = update_causes(KINDS[CONFIGMAP], old, new)
    assert str(found) == (
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"c/d"}'
    )


def test_a_uid_never_changes() -> None:
    old, new = {"metadata": {"name": "it", "uid": "a"}}, {"metadata": {"name": "it", "uid": "b"}}
    (found,) = update_causes(KINDS[CONFIGMAP], old, new)
    assert str(found) == 'metadata.uid: Invalid value: "b": field is immutable'
