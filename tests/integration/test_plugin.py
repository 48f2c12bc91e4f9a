"""The plugin's promises: no skip passes in CI, warnings are errors, and the run says what it used."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PART = """
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


def run(folder: pathlib.Path, tests: str, *, ci: bool) -> subprocess.CompletedProcess[str]:
    """Run pytest on one file of tests with this project's settings."""
    target = folder / "tests" / "unit" / "test_it.py"
    target.parent.mkdir(parents=True)
    target.write_text(PART + tests)
    environment = {**os.environ, "CI": "true" if ci else "", "PYTHONPATH": str(ROOT)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(folder),
        str(target),
    ]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        pytest.param("def test(): pytest.skip('no luck')", "no luck", id="a test that skips itself"),
        pytest.param("@pytest.mark.skip(reason='later')\ndef test(): ...", "later", id="a test marked to be skipped"),
        pytest.param("def test(broken_toy): ...", "no toys on this machine", id="a part that cannot be had"),
        pytest.param("pytest.skip('all of it', allow_module_level=True)", "all of it", id="a module that skips itself"),
        pytest.param("@pytest.mark.xfail(reason='known')\ndef test(): assert False", "known", id="a known failure"),
    ],
)
def test_a_skip_fails_in_ci_and_names_its_reason(tmp_path: pathlib.Path, tests: str, reason: str) -> None:
    done = run(tmp_path, tests, ci=True)
    assert done.returncode != 0
    assert "CI allows no skips" in done.stdout
    assert reason in done.stdout


def test_a_part_that_cannot_be_had_is_a_skip_with_its_reason_elsewhere(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, "def test(broken_toy): ...\ndef test_other(): ...", ci=False)
    assert done.returncode == 0
    assert "not to be had: broken toy: no toys on this machine" in done.stdout


def test_a_warning_is_a_failure(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, "import warnings\ndef test(): warnings.warn('careful')", ci=False)
    assert done.returncode == 1
    assert "UserWarning: careful" in done.stdout


def test_a_failure_shows_the_log_of_the_parts_it_used(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, "def test(toy): assert False", ci=False)
    assert done.returncode == 1
    assert "log of toy (a toy of the test)" in done.stdout
    assert "the toy's last words" in done.stdout


def test_the_summary_names_the_parts_and_the_time_of_each_level(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, "def test(toy): ...", ci=True)
    assert done.returncode == 0, done.stdout
    assert "toy: a toy of the test" in done.stdout
    assert "unit 0." in done.stdout.split("time by level")[1]
