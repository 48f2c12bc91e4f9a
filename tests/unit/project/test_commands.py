"""What the documents name exists: make targets, lock files that agree, entries of the services."""

import pathlib
import re
import subprocess
import sys

import pytest

from tests.tools.pins import constraints

ROOT = pathlib.Path(__file__).parents[3]
SERVICES = sorted(path.parent.name for path in ROOT.glob("services/*/pyproject.toml"))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
)
def test_every_make_target_in_the_documents_exists(document: str) -> None:
    code = re.findall(r"`[^`]+`|```.*?```", (ROOT / document).read_text(), re.DOTALL)
    named = {target for part in code for target in re.findall(r"\bmake ([a-z][a-z-]*)", part)}
    assert named <= make_targets()


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text


def test_help_lists_every_command_of_the_issue() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("setup", "demo", "test", "check", "bench", "fmt", "tools", "images", "parity"):
        assert f"make {target} " in shown


def test_uv_takes_the_versions_of_the_lock() -> None:
    assert (ROOT / "uv.toml").read_text() == constraints((ROOT / "requirements.lock").read_text())


def test_every_service_of_the_design_is_a_package() -> None:
    assert set(SERVICES) >= {"watcher", "cluster-reconciler", "job-reconciler", "dashboard-gateway", "janitor"}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_an_entry_that_tells_its_version(service: str) -> None:
    module = f"manta_{service.replace('-', '_')}"
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"manta-{service} 0.")


def test_the_manta_command_is_installed() -> None:
    manta = pathlib.Path(sys.executable).parent / "manta"
    assert subprocess.run([manta, "--version"], capture_output=True, text=True, check=True).stdout.startswith(
        "manta 0."
    )
