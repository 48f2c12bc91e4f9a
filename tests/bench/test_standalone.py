"""The first minute of a new user: how soon Manta is up, what it takes, and how much later than by hand a job speaks."""

import contextlib
import os
import pathlib
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import pytest

from tests.parts.ports import free_port
from tests.parts.process import Process
from tests.parts.ray import LocalRay

PROGRAMS = pathlib.Path(sys.executable).parent
FIRST = "the first line"
SPEAK = ("--", "python", "-c", f"print('{FIRST}')")
AS_IN_A_POD = ("--num-cpus=1", "--memory=2147483648", "--object-store-memory=644245094")
UP_SECONDS = 3.0
UP_MIB = 250
SLACK_SECONDS = 2.0
ROUNDS = 2

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def up(tmp_path: pathlib.Path) -> Iterator[tuple[float, Process]]:
    """A standalone Manta, and how long it took to be ready."""
    port = free_port()
    command = [PROGRAMS / "manta", "up", "--data", tmp_path / "data", "--http", f"127.0.0.1:{port}"]
    process = Process("manta up", list(map(str, command)), tmp_path / "log")
    began = time.monotonic()
    process.start()
    process.wait_until("it is ready", lambda: _answers(f"http://127.0.0.1:{port}/readyz"), limit_seconds=60)
    yield time.monotonic() - began, process
    process.stop(limit_seconds=40)


def test_it_is_up_soon_and_small(up: tuple[float, Process]) -> None:
    seconds, process = up
    mib = _memory_mib(process.pid)
    print(f"\nmanta up: ready after {seconds:.2f} s (goal {UP_SECONDS}), {mib:.0f} MiB with NATS (goal {UP_MIB})")
    assert seconds < UP_SECONDS
    assert mib < UP_MIB


def test_a_job_speaks_almost_as_soon_as_by_hand(
    up: tuple[float, Process], tmp_path: pathlib.Path, parts_folder: pathlib.Path
) -> None:
    kubeconfig = tmp_path / "data" / "api" / "kubeconfig"
    ours, by_hand = [], []
    for _ in range(ROUNDS):
        by_hand.append(_by_hand(parts_folder))
        ours.append(_until_it_speaks([str(PROGRAMS / "manta"), "submit", *SPEAK], {"KUBECONFIG": str(kubeconfig)}))
    print(f"\nuntil a job's first line: {_shown(ours)} by `manta submit`, {_shown(by_hand)} by hand")
    assert min(ours) < min(by_hand) + SLACK_SECONDS


def _by_hand(folder: pathlib.Path) -> float:
    """Ray's own start and submission, with all that a head pod starts too."""
    began = time.monotonic()
    ray = LocalRay.start(folder, options=AS_IN_A_POD)
    try:
        started = time.monotonic() - began
        command = [str(PROGRAMS / "ray"), "job", "submit", "--address", ray.dashboard_url, *SPEAK]
        return started + _until_it_speaks(command, {})
    finally:
        ray.stop()


def _until_it_speaks(command: list[str], variables: dict[str, str]) -> float:
    began = time.monotonic()
    with subprocess.Popen(
        command, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.strip() == FIRST:
                seconds = time.monotonic() - began
                process.stdout.read()
                return seconds
    raise AssertionError(f"it never spoke: {''.join(said)[-2000:]}")


def _memory_mib(pid: int) -> float:
    """What a process and its children use, what they share counted once."""
    total = 0
    for one in [pid, *_descendants(pid)]:
        with contextlib.suppress(OSError):
            text = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text()
            total += int(next(line for line in text.splitlines() if line.startswith("Pss:")).split()[1])
    return total / 1024


def _descendants(pid: int) -> list[int]:
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *_descendants(child)]
    return found


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _shown(seconds: list[float]) -> str:
    return "/".join(f"{one:.1f}" for one in seconds) + " s"
