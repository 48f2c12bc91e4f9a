"""The name server of the tests knows the names of the cluster and no others."""

import struct

import pytest

from tests.parts.dns import answer

SUFFIX = b"svc.cluster.local"


def query(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)


@pytest.mark.parametrize(
    ("name", "kind", "code", "answers"),
    [
        pytest.param("head.default.svc.cluster.local", 1, 0, 1, id="a service is here"),
        pytest.param("HEAD.default.SVC.cluster.local", 1, 0, 1, id="in any case"),
        pytest.param("head.default.svc.cluster.local", 28, 0, 0, id="a service has no IPv6 address"),
        pytest.param("example.test", 1, 3, 0, id="another name is unknown"),
    ],
)
def test_an_answer(name: str, kind: int, code: int, answers: int) -> None:
    reply = answer(query(name, kind), SUFFIX)
    number, flags, _, count, _, _ = struct.unpack_from("!6H", reply)
    assert (number, flags & 15, count) == (7, code, answers)
    assert reply.endswith(bytes([127, 0, 0, 1])) == bool(answers)
