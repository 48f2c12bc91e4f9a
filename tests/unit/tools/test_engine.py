"""A Docker engine is found quickly or not at all, and what keeps one from starting is said in a sentence."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator

import pytest

from tests.parts.patience import patient
from tests.tools import engine

# Who runs it is said here, for tests are run by root on some machines and not on others.
AS_USER = f"""
import os, runpy, sys
user = int(sys.argv[1])
os.geteuid = lambda: user
sys.argv[1:] = ["ensure"]
runpy.run_path({engine.__file__!r}, run_name="__main__")
"""


@pytest.fixture
def folder() -> Iterator[pathlib.Path]:
    """A short folder, for the path of a socket is short."""
    with tempfile.TemporaryDirectory(prefix="manta-") as name:
        yield pathlib.Path(name)


def test_nobody_answers_at_a_socket_that_is_not_there(folder: pathlib.Path) -> None:
    assert not engine.answers(f"unix://{folder}/nobody.sock")


def test_an_engine_that_hangs_is_given_up_soon(folder: pathlib.Path) -> None:
    with _listening(folder / "hung.sock"):
        before = time.monotonic()
        assert not engine.answers(f"unix://{folder}/hung.sock")
        assert time.monotonic() - before < patient(2)


def test_an_engine_that_answers_is_found(folder: pathlib.Path) -> None:
    with _listening(folder / "engine.sock") as listener:
        answering = threading.Thread(target=_answer_once, args=(listener,))
        answering.start()
        assert engine.answers(f"unix://{folder}/engine.sock")
        answering.join(timeout=5)


@pytest.mark.parametrize(
    ("programs", "reason"),
    [
        pytest.param({}, "there is no apt-get to install it", id="no apt-get"),
        pytest.param(
            {"apt-get": "echo E: no network >&2; exit 100"},
            "`apt-get update` failed with exit code 100: E: no network",
            id="apt-get fails",
        ),
        pytest.param({"apt-get": "exit 0"}, "there is no dockerd on PATH", id="the package has no dockerd"),
        pytest.param(
            {"dockerd": "echo failed to start daemon: no luck; exit 1"},
            "failed to start daemon: no luck",
            id="dockerd dies",
        ),
    ],
)
def test_an_engine_that_cannot_be_had_is_a_sentence(
    folder: pathlib.Path, programs: dict[str, str], reason: str
) -> None:
    done = _ensure(folder, programs, as_root=True)
    assert done.returncode == 1
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_only_root_starts_an_engine(folder: pathlib.Path) -> None:
    done = _ensure(folder, {}, as_root=False)
    assert done.returncode == 1
    assert "only root can start one" in done.stderr


def test_an_engine_that_is_not_ours_is_not_stopped(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANTA_CACHE", str(folder))
    engine.folder().mkdir()
    (engine.folder() / "docker.pid").write_text(str(os.getpid()))
    assert engine.own_pid() is None
    engine.stop()


def _ensure(folder: pathlib.Path, programs: dict[str, str], *, as_root: bool) -> subprocess.CompletedProcess[str]:
    """`engine.py ensure` on a machine that has these programs only."""
    for name, script in programs.items():
        (folder / name).write_text(f"#!{shutil.which('sh')}\n{script}\n")
        (folder / name).chmod(0o755)
    environment = {"PATH": str(folder), "MANTA_CACHE": str(folder / "cache"), "DOCKER_HOST": f"unix://{folder}/none"}
    command = [sys.executable, "-c", AS_USER, "0" if as_root else "1000"]
    return subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=60)


@contextlib.contextmanager
def _listening(path: pathlib.Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield listener


def _answer_once(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(1024)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK")
