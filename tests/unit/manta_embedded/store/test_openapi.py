"""The shapes of built-in kinds, taken from what an API server publishes."""

from typing import Any

import pytest

from manta_common.kinds import CRD, INGRESS, JOB, POD, SERVICE, Kind
from manta_embedded.store.openapi import ROOTS, builtin_shape, taken_from
from manta_embedded.store.shapes import custom


@pytest.mark.parametrize(
    ("kind", "path", "keys"),
    [
        pytest.param(POD, ("spec", "containers"), ("name",), id="containers"),
        pytest.param(SERVICE, ("spec", "ports"), ("port", "protocol"), id="ports of a service"),
        pytest.param(JOB, ("spec", "template", "spec", "volumes"), ("name",), id="volumes of a template"),
        pytest.param(POD, ("metadata", "ownerReferences"), ("uid",), id="owners"),
    ],
)
def test_lists_have_keys(kind: Kind, path: tuple[str, ...], keys: tuple[str, ...]) -> None:
    shape = builtin_shape(kind)
    for name in path:
        shape = shape.field(name)
    assert (shape.list_type, shape.list_keys) == ("map", keys)


def test_a_key_that_is_left_out_has_its_default() -> None:
    ports = builtin_shape(SERVICE).field("spec").field("ports")
    assert ports.key_of({"port": 80}) == (("port", 80), ("protocol", "TCP"))


def test_a_kind_has_the_fields_it_has() -> None:
    spec = builtin_shape(INGRESS).field("spec")
    assert spec.allows("rules")
    assert not spec.allows("nonsense")
    assert builtin_shape(POD).field("metadata").field("labels").allows("anything")
    assert builtin_shape(CRD).field("spec").allows("nonsense")


def test_a_custom_resource_has_metadata_whatever_its_schema_says() -> None:
    shape = custom({"properties": {"spec": {"properties": {"a": {}}}}})
    assert shape.field("metadata").field("finalizers").list_type == "set"
    assert not shape.field("spec").allows("b")


def test_the_file_holds_what_matters_and_no_prose() -> None:
    published: dict[str, Any] = {
        f"io.k8s.api.{group.split('.')[0] or 'core'}.v1.{kind}": {"description": "prose", "properties": {}}
        for group, words in ROOTS.items()
        for kind in words.split()
    }
    published["io.k8s.api.core.v1.Pod"]["properties"] = {
        "spec": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}], "default": {}}
    }
    published["io.k8s.api.core.v1.PodSpec"] = {
        "properties": {"containers": {"type": "array", "x-kubernetes-list-type": "map", "description": "prose"}}
    }
    text = taken_from([{"components": {"schemas": published}}])
    assert b"prose" not in text
    assert (
        b'"io.k8s.api.core.v1.PodSpec":{"properties":{"containers":{"type":"array","x-kubernetes-list-type":"map"}}}'
        in text
    )
