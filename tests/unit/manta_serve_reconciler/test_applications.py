"""When Serve is told what to run, and what is said of its applications."""

from typing import Any

import msgspec
import pytest

from manta_common.api.rayservice import AppStatus, RayServiceStatus
from manta_common.dashboard.reports import ServeReport
from manta_serve_reconciler.actions import Submit
from manta_serve_reconciler.observed import ServeSettings, Submitted
from manta_serve_reconciler.policies import applications
from tests.unit.manta_serve_reconciler import made

NEVER = Submitted()
TOLD = Submitted(config=made.CONFIG, at=made.ago(60))
OTHER = {"one": {"name": "one", "import_path": "x:y"}}


@pytest.mark.parametrize(
    ("submitted", "report", "is_told"),
    [
        pytest.param(NEVER, None, True, id="a new cluster, at once"),
        pytest.param(NEVER, made.report(""), True, id="nothing runs yet"),
        pytest.param(NEVER, made.report(), False, id="after a restart, what runs is what is wanted"),
        pytest.param(NEVER, made.report(applications={}), True, id="after a restart, nothing runs"),
        pytest.param(TOLD, made.report(), False, id="all is as it should be"),
        pytest.param(TOLD, None, False, id="it was told and has not answered yet"),
        pytest.param(msgspec.structs.replace(TOLD, config="x: 1"), made.report(), True, id="something else is wanted"),
        pytest.param(TOLD, made.report(""), True, id="the head has lost its state"),
        pytest.param(
            Submitted(config=made.CONFIG, at=made.ago(0.5)), made.report(""), False, id="it may not show it yet"
        ),
        pytest.param(NEVER, made.report("", trouble=made.trouble()), False, id="it cannot be asked"),
    ],
)
def test_serve_is_told_when_it_must_be(submitted: Submitted, report: ServeReport | None, is_told: bool) -> None:
    pending = made.side("pending", "new", cluster=made.cluster("new"), submitted=submitted, report=report)
    found = applications.served(made.observed(pending=pending), pending, ServeSettings(), made.NOW)
    assert found.submit == (Submit("new") if is_told else None)


def test_what_runs_elsewise_is_told_anew_after_a_restart() -> None:
    said = made.report(
        applications={"one": msgspec.structs.replace(made.report().applications["one"], config=OTHER["one"])}
    )
    pending = made.side("pending", "new", cluster=made.cluster("new"), submitted=NEVER, report=said)
    assert applications.served(made.observed(pending=pending), pending, ServeSettings(), made.NOW).submit


def test_a_spec_that_nobody_has_seen_is_told_anew_after_a_restart() -> None:
    pending = made.side("pending", "new", cluster=made.cluster("new"), submitted=NEVER, report=made.report())
    assert applications.served(made.observed(pending=pending, generation=0), pending, ServeSettings(), made.NOW).submit


def test_what_was_told_by_somebody_before_is_let_be_until_serve_reports_it() -> None:
    before = {"one": AppStatus(status="RUNNING")}
    status = RayServiceStatus(ray_cluster_name="old", application_statuses=before)
    active = made.side("active", "old", cluster=made.cluster("old"), submitted=NEVER, status=status)
    found = applications.served(made.observed(active=active), active, ServeSettings(), made.NOW)
    assert (found.applications, found.submit, found.known, found.ready) == (before, None, False, False)


def test_serve_is_looked_at_again_when_it_shows_nothing_of_what_it_took() -> None:
    just = Submitted(config=made.CONFIG, at=made.ago(0.5))
    pending = made.side("pending", "new", cluster=made.cluster("new"), submitted=just, report=made.report(""))
    found = applications.served(made.observed(pending=pending), pending, ServeSettings(), made.NOW)
    assert found.due == made.ago(0.5) + applications.PATIENCE


@pytest.mark.parametrize(
    ("parts", "ready"),
    [
        pytest.param({"report": made.report()}, True, id="all run"),
        pytest.param({"report": made.report("DEPLOYING")}, False, id="one does not"),
        pytest.param({"report": made.report("")}, False, id="there is none"),
        pytest.param({"report": made.report(trouble=made.trouble())}, False, id="nobody knows"),
        pytest.param({"report": made.report(), "cluster": made.cluster("new", ready=False)}, False, id="no head"),
    ],
)
def test_a_cluster_is_ready_when_all_its_applications_run(parts: Any, ready: bool) -> None:
    pending = made.side("pending", "new", **{"cluster": made.cluster("new"), **parts})
    assert applications.served(made.observed(pending=pending), pending, ServeSettings(), made.NOW).ready == ready


def test_in_trouble_what_was_said_last_stays() -> None:
    before = RayServiceStatus(ray_cluster_name="new", application_statuses={"one": AppStatus(status="RUNNING")})
    silent = made.report("", trouble=made.trouble())
    pending = made.side("pending", status=before, cluster=made.cluster("new"), report=silent)
    found = applications.served(made.observed(pending=pending), pending, ServeSettings(), made.NOW)
    assert found.applications == before.application_statuses


@pytest.mark.parametrize(
    ("has_active", "has_pending", "version", "looked_after"),
    [
        pytest.param(True, False, "2.56.0", ["active"], id="the one that serves"),
        pytest.param(True, True, "2.57.0", ["pending"], id="the one to come alone during an upgrade"),
        pytest.param(False, True, "2.56.0", ["pending"], id="the first one"),
        pytest.param(True, False, "2.57.0", [], id="none that is to be replaced"),
        pytest.param(False, False, "2.56.0", [], id="none that is not there"),
    ],
)
def test_applications_are_looked_after_on(
    has_active: bool, has_pending: bool, version: str, looked_after: list[str]
) -> None:
    wanted = made.service({"rayClusterConfig": {"rayVersion": version}})
    found = made.observed(
        wanted,
        active=made.side("active", "old", cluster=made.cluster("old")) if has_active else None,
        pending=made.side("pending", "new", cluster=made.cluster("new", wanted)) if has_pending else None,
    )
    assert [side.role for side in applications.looked_after(found, ServeSettings())] == looked_after
