"""`make test`: everything CI runs, stage by stage, with the time of each at the end. Standard library only."""

import contextlib
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator

if __package__ in (None, ""):  # started as a script, before anything is installed
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.tools import engine

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ".venv/bin/python"
# Two lanes at once that take about as long: one that begins with what only computes, and one that mostly waits.
LANES = ("unit", "model", "contract"), ("integration", "e2e", "chaos")
SLOWEST = ("--durations=20", "--durations-min=20")  # are named at the end


class StageFailed(Exception):
    """A stage ended with an error; the message says which and how to run it alone."""


def main() -> int:
    """Run the stages; return the exit code."""
    seconds: dict[str, float] = {}
    code = 0
    try:
        with contextlib.ExitStack() as stack:
            _run_all(seconds, stack)
    except StageFailed as error:
        print(f"make test: {error}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        print("make test: stopped", file=sys.stderr)
        code = 130
    print("time by stage: " + ", ".join(f"{stage} {spent:.0f} s" for stage, spent in seconds.items()))
    return code


def _run_all(seconds: dict[str, float], stack: contextlib.ExitStack) -> None:
    environment = dict(os.environ)
    with _timed("tools", seconds):
        _stage("tools", [PYTHON, "tests/tools/build.py", "test", "node"], environment, alone="make tools")
    with _timed("engine", seconds):
        environment |= _engine(stack)
    with _timed("images", seconds):
        if engine.answers(environment.get("DOCKER_HOST")):
            _stage("images", [PYTHON, "tests/tools/images.py"], environment, alone="make images")
            subprocess.run([PYTHON, "tests/tools/product.py"], cwd=ROOT, env=environment, check=False)  # else: skipped
    with _timed("check", seconds):
        _stage("check", ["make", "--no-print-directory", "lint", "types"], environment, alone="make check")
    with _timed("tests", seconds):
        _tests(environment)


def _engine(stack: contextlib.ExitStack) -> dict[str, str]:
    """In CI a Docker engine is started when none answers; elsewhere nothing is started behind a person's back."""
    if engine.answers(os.environ.get("DOCKER_HOST")) or os.environ.get("CI", "").lower() not in ("1", "true"):
        return {}
    try:
        started = engine.ensure()
    except engine.EngineFailed as error:
        print(f"make test: no Docker engine: {error}; NATS and Redis run as plain programs", file=sys.stderr)
        return {}
    stack.callback(engine.stop)
    return started


def _tests(environment: dict[str, str]) -> None:
    """Both lanes; what the computing one prints comes at its end, after the other's."""
    computing, real = ([PYTHON, "-m", "pytest", *_folders(levels), *SLOWEST] for levels in LANES)
    print("make test: tests", flush=True)
    with tempfile.TemporaryFile() as printed:
        beside = subprocess.Popen(computing, cwd=ROOT, env=environment, stdout=printed, stderr=subprocess.STDOUT)
        try:
            real_code = subprocess.run(real, cwd=ROOT, env=environment, check=False).returncode
        finally:  # a Ctrl-C has reached it too
            computing_code = beside.wait()
            printed.seek(0)
            sys.stdout.write(printed.read().decode(errors="replace"))
    failed = [shlex.join(lane) for lane, code in ((real, real_code), (computing, computing_code)) if code]
    if failed:
        raise StageFailed(f"tests failed; run them alone with `{'` and `'.join(failed)}`")


def _folders(levels: Iterable[str]) -> list[str]:
    return [f"tests/{level}" for level in levels if any((ROOT / "tests" / level).rglob("test_*.py"))]


def _stage(name: str, command: list[str], environment: dict[str, str], *, alone: str) -> None:
    print(f"make test: {name}", flush=True)
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if code:
        raise StageFailed(f"{name} failed with exit code {code}; run it alone with `{alone}`")


@contextlib.contextmanager
def _timed(name: str, seconds: dict[str, float]) -> Iterator[None]:
    before = time.monotonic()
    try:
        yield
    finally:
        seconds[name] = time.monotonic() - before


if __name__ == "__main__":
    sys.exit(main())
