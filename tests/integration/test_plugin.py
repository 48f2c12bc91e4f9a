"""The plugin's promises: no skip passes in CI, warnings are errors, and the run says what it used."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FIXTURES = """
import warnings

import pytest
from tests.parts.process import Unavailable

class Toy:
    origin = "a toy of the test"
    def stop(self):
        print("toy stopped")
    def log_tail(self):
        return "the toy's last words"

@pytest.fixture(scope="session")
def toy(parts):
    yield from parts.obtain("toy", Toy)

def refuse():
    raise Unavailable("no toys on this machine")

@pytest.fixture
def broken_toy(parts):
    yield from parts.obtain("broken toy", refuse)
"""
SKIPPING = """
def test_that_skips_itself():
    pytest.skip("no luck")

@pytest.mark.skip(reason="later")
def test_marked_to_be_skipped(): ...

def test_of_a_part_that_cannot_be_had(broken_toy): ...

@pytest.mark.xfail(reason="known")
def test_known_to_fail():
    assert False
"""
SKIPPED_MODULE = 'import pytest\n\npytest.skip("all of it", allow_module_level=True)\n'
PLAIN = """
def test_that_warns():
    warnings.warn("careful")

def test_that_fails(toy):
    assert False

def test_of_a_part_that_cannot_be_had(broken_toy): ...

def test_that_passes(toy): ...
"""


HEEDING = """
import subprocess, sys

def test_what_is_started_heeds_ctrl_c():
    ask = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.check_output([sys.executable, "-c", ask]) == b"True\\n"
"""


def run(
    folder: pathlib.Path, files: dict[str, str], *, ci: bool, before: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run pytest on files of tests with this project's settings, by what stands before it."""
    target = folder / "tests" / "unit"
    target.mkdir(parents=True)
    for name, text in files.items():
        (target / name).write_text(text)
    environment = {**os.environ, "CI": "true" if ci else "", "PYTHONPATH": str(ROOT)}
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "--continue-on-collection-errors", "-rA"]
    command = [*before, sys.executable, "-m", "pytest", *options, str(target)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def in_ci(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    files = {"test_it.py": FIXTURES + SKIPPING, "test_none.py": SKIPPED_MODULE}
    return run(tmp_path_factory.mktemp("ci"), files, ci=True)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    return run(tmp_path_factory.mktemp("elsewhere"), {"test_it.py": FIXTURES + PLAIN}, ci=False)


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("test_it.py::test_that_skips_itself", "no luck"),
        ("test_it.py::test_marked_to_be_skipped", "later"),
        ("test_it.py::test_of_a_part_that_cannot_be_had", "no toys on this machine"),
        ("test_it.py::test_known_to_fail", "known"),
        ("test_none.py", "all of it"),
    ],
)
def test_a_skip_fails_in_ci_and_names_its_reason(
    in_ci: subprocess.CompletedProcess[str], test: str, reason: str
) -> None:
    assert in_ci.returncode == 1
    assert re.search(rf"(FAILED|ERROR) tests/unit/{re.escape(test)}", in_ci.stdout)
    assert re.search(rf"CI allows no skips: .*{re.escape(reason)}", in_ci.stdout)


def test_nothing_passes_in_ci_by_skipping(in_ci: subprocess.CompletedProcess[str]) -> None:
    assert "passed" not in in_ci.stdout.splitlines()[-1]
    assert "skipped" not in in_ci.stdout.splitlines()[-1]


def test_elsewhere_a_part_that_cannot_be_had_is_a_skip_with_its_reason(
    elsewhere: subprocess.CompletedProcess[str],
) -> None:
    assert "2 failed, 1 passed, 1 skipped" in elsewhere.stdout
    assert "not to be had: broken toy: no toys on this machine" in elsewhere.stdout


def test_a_warning_is_a_failure(elsewhere: subprocess.CompletedProcess[str]) -> None:
    assert "FAILED tests/unit/test_it.py::test_that_warns - UserWarning: careful" in elsewhere.stdout


def test_a_failure_shows_the_log_of_the_parts_it_used(elsewhere: subprocess.CompletedProcess[str]) -> None:
    assert "log of toy (a toy of the test)" in elsewhere.stdout
    assert "the toy's last words" in elsewhere.stdout


def test_the_summary_names_the_parts_and_the_time_of_each_level(elsewhere: subprocess.CompletedProcess[str]) -> None:
    assert "toy: a toy of the test" in elsewhere.stdout
    assert re.search(r"unit \d+\.\d of 240 s", elsewhere.stdout.split("time by level")[1])


def test_ctrl_c_counts_in_a_run_in_the_background(tmp_path: pathlib.Path) -> None:
    """A shell has what it puts into the background ignore it."""
    done = run(tmp_path, {"test_it.py": HEEDING}, ci=True, before=("env", "--ignore-signal=INT"))
    assert "1 passed" in done.stdout, done.stdout
