"""Programs of the tests end for certain, and waiting for them names what was waited for."""

import pathlib
import threading

import pytest

from tests.parts.ports import free_port
from tests.parts.process import PartFailed, Process, accepts, wait_until


@pytest.fixture
def log(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "log"


def test_a_wait_that_takes_too_long_names_what_it_waited_for() -> None:
    with pytest.raises(TimeoutError, match=r"not within 0.4 s: the moon is blue"):
        wait_until("the moon is blue", lambda: False, limit_seconds=0.1)


def test_a_program_that_ends_early_shows_its_log(log: pathlib.Path) -> None:
    process = Process("talker", ["sh", "-c", "echo cannot open the door; exit 3"], log)
    process.start()
    with pytest.raises(PartFailed, match=r"(?s)talker ended while waiting until it sings.*cannot open the door"):
        process.wait_until("it sings", lambda: False, limit_seconds=10)


def test_stop_ends_the_whole_group_even_if_it_refuses(log: pathlib.Path) -> None:
    script = "trap '' TERM; echo ready; sleep 600 & while true; do wait; done"
    process = Process("stubborn", ["sh", "-c", script], log)
    process.start()
    process.wait_until("it is deaf to SIGTERM", lambda: "ready" in process.tail(), limit_seconds=10)
    process.stop(limit_seconds=0.2)
    assert not process.alive


def test_a_paused_program_is_stopped_too(log: pathlib.Path) -> None:
    process = Process("sleeper", ["sleep", "600"], log)
    process.start()
    process.pause()
    process.stop(limit_seconds=5)
    assert not process.alive


def test_a_program_can_be_started_again(log: pathlib.Path) -> None:
    process = Process("sleeper", ["sleep", "600"], log)
    process.start()
    first = process.pid
    process.kill()
    process.start()
    assert process.alive
    assert process.pid != first
    process.kill()


def test_a_program_outlives_the_thread_that_started_it(log: pathlib.Path) -> None:
    process = Process("sleeper", ["sleep", "600"], log)
    thread = threading.Thread(target=process.start)
    thread.start()
    thread.join(10)
    assert process.exit_code(within_seconds=0.2) is None
    process.kill()


def test_a_free_port_accepts_nobody() -> None:
    assert not accepts(free_port())
