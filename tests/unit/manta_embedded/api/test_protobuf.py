"""What Go clients send for built-in kinds is read as the JSON that they would have sent."""

import pytest

from manta_common.kinds import CONFIGMAP, CRD, POD, SERVICE
from manta_embedded.api.protobuf import MAGIC, decoded
from manta_embedded.store.errors import StatusError


def number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value & (1 << 64) - 1)


def part(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(raw)) + raw


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def body(version: str, kind: str, message: bytes) -> bytes:
    return MAGIC + part(1, part(1, version) + part(2, kind)) + part(2, message)


NAMED = part(1, part(1, "one") + part(3, "") + part(8, b""))


def test_a_map() -> None:
    message = NAMED + part(2, part(1, "a") + part(2, "1")) + part(3, part(1, "b") + part(2, b"\x00\xff"))
    assert decoded(body("v1", "ConfigMap", message), CONFIGMAP) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "one"},
        "data": {"a": "1"},
        "binaryData": {"b": "AP8="},
    }


def test_empty_values_are_kept_where_go_keeps_them() -> None:
    scratch = part(1, "scratch") + part(2, part(2, b""))  # emptyDir is a pointer within an inlined struct
    container = part(1, "main") + part(2, "") + part(8, b"") + number(18, 0)
    spec = part(1, scratch) + part(2, container) + number(4, 0) + number(25, -5) + part(3, "")
    assert decoded(body("v1", "Pod", NAMED + part(2, spec) + part(3, b"")), POD)["spec"] == {
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "containers": [{"name": "main", "resources": {}}],
        "terminationGracePeriodSeconds": 0,
        "priority": -5,
    }


@pytest.mark.parametrize(
    ("target", "found"),
    [
        pytest.param(number(1, 0) + number(2, 8080) + part(3, ""), 8080, id="a number"),
        pytest.param(number(1, 1) + number(2, 0) + part(3, "http"), "http", id="a name"),
    ],
)
def test_a_port_is_a_number_or_a_name(target: bytes, found: int | str) -> None:
    port = part(1, "") + number(3, 80) + part(4, target) + number(5, 0)
    message = body("v1", "Service", NAMED + part(2, part(1, port)))
    assert decoded(message, SERVICE)["spec"]["ports"] == [{"port": 80, "targetPort": found}]


@pytest.mark.parametrize(
    ("raw", "code", "why"),
    [
        pytest.param(b"{}", 400, "expected prefix", id="JSON"),
        pytest.param(body("v1", "ConfigMap", b"\x0a\x7f"), 400, "ends too early", id="cut off"),
        pytest.param(MAGIC + b"\xff", 400, "is no protobuf message", id="nonsense"),
        pytest.param(body("v1", "ConfigMap", b"\x0b"), 400, "wire type 3", id="a group"),
    ],
)
def test_what_is_no_message_is_refused(raw: bytes, code: int, why: str) -> None:
    with pytest.raises(StatusError, match=why) as refusal:
        decoded(raw, CONFIGMAP)
    assert refusal.value.code == code


def test_kinds_without_a_message_say_what_to_send() -> None:
    with pytest.raises(StatusError, match="send JSON") as refusal:
        decoded(body("apiextensions.k8s.io/v1", "CustomResourceDefinition", b""), CRD)
    assert refusal.value.code == 415
