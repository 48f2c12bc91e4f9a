"""Servers of the tests: a given one is used and left alone, and every port is its own."""

import pathlib

import pytest

from tests.parts.nats import Nats
from tests.parts.ports import free_port, free_ports
from tests.parts.process import PartFailed, Unavailable, accepts
from tests.parts.redis import Redis
from tests.parts.server import Given, Server


def test_ports_differ_and_are_free() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert not any(accepts(port) for port in ports)


def test_a_port_is_not_given_twice_though_nobody_listens_there_yet() -> None:
    ports = [free_port() for _ in range(500)]
    assert len(set(ports)) == 500


def test_a_given_server_is_neither_killed_nor_wiped() -> None:
    server = Server("given", Given("SOME_VARIABLE", ("127.0.0.1", 1)), lambda address: True)
    server.up()
    for fault in (server.kill, server.restart, server.wipe):
        with pytest.raises(Unavailable, match="SOME_VARIABLE is not killed"):
            fault()
    server.stop()


@pytest.mark.parametrize(
    ("variable", "url"),
    [
        pytest.param("MANTA_TEST_NATS", "nats://127.0.0.1:{port}", id="nats"),
        pytest.param("MANTA_TEST_REDIS", "redis://127.0.0.1:{port}/0", id="redis"),
    ],
)
def test_a_given_address_where_nobody_answers_is_a_failure(
    variable: str, url: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, url.format(port=free_ports(1)[0]))
    monkeypatch.setattr("tests.parts.server.UP_LIMIT_SECONDS", 0.1)
    with pytest.raises(PartFailed, match=f"given by {variable}: it can be used"):
        (Nats if "NATS" in variable else Redis).start(tmp_path)
