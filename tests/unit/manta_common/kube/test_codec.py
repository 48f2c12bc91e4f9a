"""Bodies of every form are sent as JSON; answers come in the wanted type, or as an error that says why not."""

import types
from typing import Any

import msgspec
import pytest

from manta_common.api.core import Pod
from manta_common.api.meta import ObjectMeta
from manta_common.errors import Expired, Rejected, Unreachable
from manta_common.kinds import POD
from manta_common.kube.codec import Codec
from manta_common.kube.protocol import Apply, MergePatch, guarded, operations

LINE = b'{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"7"}}}'


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        pytest.param(b'{"a": 1}', b'{"a": 1}', id="bytes are JSON already"),
        pytest.param({"a": "grün"}, '{"a":"grün"}'.encode(), id="a mapping"),
        pytest.param(types.MappingProxyType({"a": 1}), b'{"a":1}', id="a mapping that is no dict"),
        pytest.param({"a": msgspec.Raw(b'{"b":2}')}, b'{"a":{"b":2}}', id="with a part that passes through"),
        pytest.param(ObjectMeta(name="x", labels={"a": "b"}), b'{"name":"x","labels":{"a":"b"}}', id="a struct"),
    ],
)
def test_bodies(body: Any, sent: bytes) -> None:
    assert Codec().encode(body) == sent


def test_patches_carry_their_content_type() -> None:
    codec = Codec()
    assert codec.encode_patch(operations({"op": "remove", "path": "/a"})) == (
        b'[{"op":"remove","path":"/a"}]',
        "application/json-patch+json",
    )
    assert codec.encode_patch(guarded("7", []))[0] == b'[{"op":"test","path":"/metadata/resourceVersion","value":"7"}]'
    assert codec.encode_patch(MergePatch({"a": None})) == (b'{"a":null}', "application/merge-patch+json")
    assert codec.encode_patch(Apply({"a": 1}, "me")) == (b'{"a":1}', "application/apply-patch+yaml")


@pytest.mark.parametrize("into", [Pod, msgspec.Raw, dict])
def test_a_change_tells_its_version_whatever_it_is_decoded_into(into: type[Any]) -> None:
    change = Codec().change(POD, LINE, into)
    assert (change.type, change.version) == ("MODIFIED", "7")
    assert isinstance(change.object, into)


def test_a_bookmark_has_a_version_and_no_object() -> None:
    line = b'{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9"}}}'
    change = Codec().change(POD, line, Pod)
    assert (change.type, change.version, change.object) == ("BOOKMARK", "9", None)


def test_an_error_line_is_raised() -> None:
    line = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}'
    with pytest.raises(Expired, match="too old"):
        Codec().change(POD, line, Pod)


def test_an_object_that_does_not_fit_is_rejected() -> None:
    with pytest.raises(Rejected, match=r"Pod cannot be read: .*\$\.metadata\.name"):
        Codec().decode(POD, b'{"metadata":{"name":5}}', Pod)


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"metadata":{"na'])
def test_bytes_that_are_no_json_are_no_answer(body: bytes) -> None:
    with pytest.raises(Unreachable, match="not JSON"):
        Codec().decode(POD, body, Pod)


def test_a_list_without_items_is_empty() -> None:
    page = Codec().page(POD, b'{"metadata":{"resourceVersion":"5","continue":"c"},"items":null}', Pod)
    assert (page.items, page.metadata.resource_version, page.metadata.next) == (None, "5", "c")
