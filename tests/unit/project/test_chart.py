"""The files of the chart agree with the code they are about."""

import json
import pathlib
import re
from typing import Any

import pytest
import yaml

from manta_cli import rights
from manta_common.settings.names import SERVICES
from manta_common.telemetry.names import COMPONENT, all_metrics
from manta_embedded.nats import ENVIRONMENT
from tests.tools import values
from tests.tools.images import nats_version

ROOT = pathlib.Path(__file__).parents[3]
CHART = ROOT / "deploy" / "helm" / "manta"
SHOWN = [CHART / "files" / "rules.yaml", *sorted((CHART / "files" / "dashboards").glob("*.json"))]


@pytest.mark.parametrize(("name", "text"), rights.files().items())
def test_rights_and_gates_are_those_of_the_code(name: str, text: str) -> None:
    assert (CHART / "files" / name).read_text() == text, "run `make chart`"


def test_every_service_that_declares_rights_is_installed() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(values["services"]) == {one.service for one in rights.all_rights()} <= set(SERVICES)


@pytest.mark.parametrize("file", SHOWN, ids=lambda file: file.name)
def test_every_metric_that_is_shown_exists(file: pathlib.Path) -> None:
    known = {metric.name for metric in all_metrics()}
    named = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"(?:manta|kuberay)_\w+", _queries(file))}
    assert named
    assert named <= known


@pytest.mark.parametrize("file", SHOWN, ids=lambda file: file.name)
def test_every_label_that_is_asked_for_exists(file: pathlib.Path) -> None:
    labels = {label.name for metric in all_metrics() for label in metric.labels} | {COMPONENT, "le"}
    groups = re.findall(r"\bby \(([^)]*)\)", _queries(file))
    asked = {name for group in groups for name in re.split(r",\s*", group)}
    asked |= set(re.findall(r"[{,]\s*(\w+)\s*[=!]", _queries(file)))
    assert asked
    assert asked <= labels


def test_nats_is_set_up_the_same_wherever_it_runs() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["nats"]["environment"]
    chart = re.findall(r"- {name: (\w+), value: \"(\w+)\"}", (CHART / "templates" / "nats.yaml").read_text())
    assert compose == dict(chart) == ENVIRONMENT


def test_every_alert_can_be_looked_up() -> None:
    rules = yaml.safe_load((CHART / "files" / "rules.yaml").read_text())
    alerts = [rule["alert"] for group in rules["groups"] for rule in group["rules"]]
    assert re.findall(r"^## (\w+)$", (ROOT / "docs/how-to/alerts.md").read_text(), re.MULTILINE) == alerts


def test_the_readme_has_the_values_as_they_are() -> None:
    text = (CHART / "README.md").read_text()
    assert text == values.readme(text, values.values((CHART / "values.yaml").read_text())), "run `make chart`"


def test_the_nats_is_the_one_that_was_tested() -> None:
    assert yaml.safe_load((CHART / "values.yaml").read_text())["nats"]["image"]["tag"] == nats_version()


def test_a_value_without_a_word_on_it_is_named() -> None:
    with pytest.raises(ValueError, match=r"say what these mean, in a comment: b\.d$"):
        values.values("# about a\na: 1\n\nb:\n  c: 2 # about c\n  d: 3\n")


def test_the_gateway_may_ask_dashboards_by_the_api_server_what_it_asks_them() -> None:
    source = (ROOT / "services/dashboard-gateway/src/manta_dashboard_gateway/ray/api.py").read_text()
    verbs = {"GET": "get", "POST": "create", "PUT": "update", "DELETE": "delete"}
    asked = {verbs[method] for method in ["GET", *re.findall(r'method="(\w+)"', source)]}
    (gateway,) = (one for one in rights.all_rights() if one.service == "dashboard-gateway")
    assert [set(one.verbs) for one in gateway.kubernetes if one.resource == "services/proxy"] == [asked]


def test_hooks_and_roles_name_our_crds() -> None:
    names = ", ".join(sorted(file.stem.split("_")[1] + ".ray.io" for file in (CHART / "crds").glob("*.yaml")))
    for template in ("crds.yaml", "tests/doctor.yaml"):
        assert f"resourceNames: [{names}]" in (CHART / "templates" / template).read_text()


def _queries(file: pathlib.Path) -> str:
    document: Any = yaml.safe_load(file.read_text()) if file.suffix == ".yaml" else json.loads(file.read_text())
    if file.suffix == ".yaml":
        return "\n".join(rule["expr"] for group in document["groups"] for rule in group["rules"])
    return "\n".join(target["expr"] for panel in document["panels"] for target in panel["targets"])
