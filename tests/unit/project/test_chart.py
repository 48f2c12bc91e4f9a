"""The files of the chart agree with the code they are about."""

import json
import pathlib
import re
from typing import Any

import pytest
import yaml

from manta_cli import rights
from manta_common.settings.names import SERVICES
from manta_common.telemetry.names import all_metrics

CHART = pathlib.Path(__file__).parents[3] / "deploy" / "helm" / "manta"
SHOWN = [CHART / "files" / "rules.yaml", *sorted((CHART / "files" / "dashboards").glob("*.json"))]


def test_the_rights_are_those_the_services_declare() -> None:
    assert (CHART / "files" / "rights.yaml").read_text() == rights.text(), "run `make chart`"


def test_every_service_that_declares_rights_is_installed() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(values["services"]) == {one.service for one in rights.all_rights()} <= set(SERVICES)


@pytest.mark.parametrize("file", SHOWN, ids=lambda file: file.name)
def test_every_metric_that_is_shown_exists(file: pathlib.Path) -> None:
    known = {metric.name for metric in all_metrics()}
    named = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"(?:manta|kuberay)_\w+", _queries(file))}
    assert named
    assert named <= known


def _queries(file: pathlib.Path) -> str:
    document: Any = yaml.safe_load(file.read_text()) if file.suffix == ".yaml" else json.loads(file.read_text())
    if file.suffix == ".yaml":
        return "\n".join(rule["expr"] for group in document["groups"] for rule in group["rules"])
    return "\n".join(target["expr"] for panel in document["panels"] for target in panel["targets"])
