"""The keeper ends every process that came from its command, also those in sessions of their own."""

import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.parts import keeper
from tests.parts.process import Process, wait_until

# A shell, a child of it in a session of its own, another one whose parent has ended, and a child that is waited for.
FAMILY = "setsid sleep 600 & (setsid sleep 600 &); sleep 600"
FAMILY_SIZE = 4
COMMAND = [sys.executable, "-I", keeper.__file__, "sh", "-c", FAMILY]
# Starts the command as tests do, writes down its pid, and waits for its own death.
STARTER = """
import pathlib, sys
from tests.parts.process import Process
process = Process("keeper", sys.argv[2:], pathlib.Path(sys.argv[1]).with_suffix(".log"))
process.start()
pathlib.Path(sys.argv[1]).write_text(str(process.pid))
sys.stdin.read()
"""


def test_nothing_is_left_after_a_stop(tmp_path: pathlib.Path) -> None:
    process = Process("keeper", COMMAND, tmp_path / "log")
    process.start()
    family = _family(lambda: process.pid)
    process.stop()
    assert _alive(family) == []


def test_nothing_is_left_when_the_starter_dies(tmp_path: pathlib.Path) -> None:
    written = tmp_path / "pid"
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(written), *COMMAND], stdin=subprocess.PIPE, cwd=_project()
    )
    family = _family(lambda: int(written.read_text()) if written.exists() else 0)
    starter.kill()
    starter.communicate()
    wait_until("the family is gone", lambda: _alive(family) == [], limit_seconds=10)


@pytest.mark.parametrize("code", [0, 7])
def test_the_exit_code_is_that_of_the_command(code: int) -> None:
    command = [sys.executable, "-I", keeper.__file__, "sh", "-c", f"exit {code}"]
    assert subprocess.run(command, check=False, timeout=20).returncode == code


def _family(pid: Callable[[], int]) -> list[int]:
    """The processes that came from a keeper, once they are all there."""

    def size() -> int:
        return len(keeper.descendants(pid())) if pid() else 0

    wait_until("the family is there", lambda: size() == FAMILY_SIZE, limit_seconds=10)
    return keeper.descendants(pid())


def _alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()]


def _project() -> pathlib.Path:
    return pathlib.Path(__file__).parents[3]
