"""What the documents show of the simulator works."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
GUIDE = ROOT / "docs/explanation/simulator.md"
LINES = 15


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)


def test_the_scenario_of_the_guide_runs_and_prints_its_history() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", examples()[0]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"toys-\d +crashes +script: create configmap, the service dies, carried out", done.stdout)
    assert "is calm" in done.stdout


def test_the_scenario_of_the_guide_has_fifteen_lines_at_most() -> None:
    body = examples()[0].partition("async def scenario")[2]
    assert len([line for line in body.splitlines() if line.strip()]) <= LINES


@pytest.mark.parametrize("name", re.findall(r"`((?:tests|sim)/[\w/]+\.py)`", GUIDE.read_text()))
def test_the_files_that_the_guide_names_are_there(name: str) -> None:
    places = (ROOT, ROOT / "libs/embedded/src/manta_embedded")
    assert any((place / name).exists() for place in places)
