"""What is checked in is what the generator makes, and it makes plain YAML."""

import pathlib

import pytest
import yaml

from manta_common.crd import kubernetes
from manta_common.crd.__main__ import main
from manta_common.crd.definitions import KINDS, definition
from manta_common.crd.files import crds
from manta_common.crd.reference import reference

ROOT = pathlib.Path(__file__).parents[4]
KUBERNETES = kubernetes.load()
FILES = dict(crds(KUBERNETES))
OLD = "is stale: run `make crds` and commit what it writes"


@pytest.mark.parametrize("name", FILES)
def test_the_crds_are_not_stale(name: str) -> None:
    assert (ROOT / "deploy" / "crds" / name).read_text() == FILES[name], f"deploy/crds/{name} {OLD}"


def test_no_other_crd_lies_about() -> None:
    assert {path.name for path in (ROOT / "deploy" / "crds").iterdir()} == set(FILES)


def test_the_reference_is_not_stale() -> None:
    assert (ROOT / "docs" / "reference" / "api.md").read_text() == reference(), f"docs/reference/api.md {OLD}"


def test_the_yaml_says_what_was_meant() -> None:
    text = FILES["ray.io_raycronjobs.yaml"]
    cron = next(kind for kind in KINDS if kind.name == "RayCronJob")
    assert yaml.load(text, Loader=yaml.CSafeLoader) == definition(cron, KUBERNETES)


def test_writing_makes_the_files(tmp_path: pathlib.Path) -> None:
    assert main(["write", str(tmp_path / "crds"), str(tmp_path / "docs" / "api.md")]) == 0
    assert {path.name for path in (tmp_path / "crds").iterdir()} == set(FILES)
    assert (tmp_path / "docs" / "api.md").read_text() == reference()
