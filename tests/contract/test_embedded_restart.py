"""The embedded API after a restart: the same place, the same tokens, the same objects."""

import pathlib
import socket

import pytest

from manta_embedded.api.settings import ApiSettings
from tests.parts.cluster import ApiError
from tests.parts.embedded_api import EmbeddedCluster
from tests.parts.ports import free_port

MAPS = "api/v1/namespaces/default/configmaps"


def started(folder: pathlib.Path, port: int = 0) -> EmbeddedCluster:
    return EmbeddedCluster(ApiSettings(folder=folder, port=port))


def test_everything_is_as_it_was(tmp_path: pathlib.Path) -> None:
    first = started(tmp_path, free_port())  # which no connection takes meanwhile
    made = first.request("POST", MAPS, {"metadata": {"name": "one"}, "data": {"a": "1"}})
    account = first.service_account_token("default", "default")
    first.stop()
    second = started(tmp_path)
    try:
        assert (second.server, second.token) == (first.server, first.token)
        assert second.request("GET", f"{MAPS}/one") == made
        second.token = account
        with pytest.raises(ApiError, match="system:serviceaccount:default:default") as refusal:
            second.request("GET", f"{MAPS}/one")
        assert refusal.value.code == 403
    finally:
        second.stop()


def test_a_torn_tail_is_told(tmp_path: pathlib.Path) -> None:
    first = started(tmp_path)
    first.request("POST", MAPS, {"metadata": {"name": "one"}})
    first.stop()
    with (tmp_path / "objects.journal").open("ab") as file:
        file.write(b"0123abcd [1")
    second = started(tmp_path)
    second.stop()
    assert "11 bytes are cut off" in second.log_tail()


def test_the_port_of_the_last_time_is_taken_by_somebody_else(tmp_path: pathlib.Path) -> None:
    first = started(tmp_path)
    first.stop()
    with socket.create_server(("127.0.0.1", int(first.server.rpartition(":")[2]))):
        second = started(tmp_path)
        second.stop()
        assert second.server != first.server
        assert second.server in second.kubeconfig.read_text()


def test_a_port_that_is_asked_for_and_taken_is_an_error(tmp_path: pathlib.Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(RuntimeError) as refusal:
        started(tmp_path, taken.getsockname()[1])
    assert isinstance(refusal.value.__cause__, OSError)


def test_secrets_are_for_their_owner_only(tmp_path: pathlib.Path) -> None:
    started(tmp_path).stop()
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert {path.name for path in files} >= {
        "admin.token",
        "accounts.key",
        "server.pem",
        "kubeconfig",
        "objects.journal",
    }
    assert all(path.stat().st_mode & 0o077 == 0 for path in files if path.name != "port")
