"""Serve's applications: on which cluster they are looked after, how they are, and whether Serve must be told anew."""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from manta_common.api.rayservice import AppStatus, ServeDeploymentStatus
from manta_common.dashboard.reports import ServeReport
from manta_common.ray.cluster import Unbuildable
from manta_serve_reconciler import conditions, manifests, reasons
from manta_serve_reconciler.actions import Submit
from manta_serve_reconciler.observed import Observed, ServeSettings, Side
from manta_serve_reconciler.policies import goals

# How long Serve may show nothing of what it took before it is given it again.
PATIENCE: Final = timedelta(seconds=5)


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of one cluster's applications; nothing when they were not looked at, the same as before when they
    are not known."""

    applications: dict[str, AppStatus] = {}
    known: bool = True
    ready: bool = False
    submit: Submit | None = None
    due: datetime | None = None


NOTHING: Final = Served()


def looked_after(observed: Observed, settings: ServeSettings) -> tuple[Side, ...]:
    """The clusters whose applications are looked after in this pass."""
    active, pending = observed.active, observed.pending
    if pending.cluster is not None:
        both = active.cluster is not None and observed.is_incremental(settings)
        return (pending, active) if both else (pending,)
    if active.cluster is None or goals.needs_new_cluster(observed, settings, beside_pending=False):
        return ()
    return (active,)


def served(observed: Observed, side: Side, settings: ServeSettings, now: datetime) -> Served:
    """How the applications of one cluster are, and what Serve is to be told."""
    if not side.is_head_ready:
        return NOTHING
    if _is_to_be_reported(side):
        return Served(applications=side.status.application_statuses, known=False)
    submit, due = (None, None) if _is_let_be(observed, side, settings) else _submission(observed, side, now)
    if submit and observed.is_incremental(settings):
        submit = msgspec.structs.replace(submit, capacity=side.status.target_capacity)
    report = side.report
    if report is not None and report.trouble is not None:
        # Nobody knows how they are; what was said last stays, but nothing is built on it.
        return Served(applications=side.status.application_statuses, due=due)
    shown = applications(report) if report else {}
    ready = bool(shown) and all(each.status == reasons.APP_RUNNING for each in shown.values())
    return Served(applications=shown, ready=ready, submit=submit, due=due)


def applications(report: ServeReport) -> dict[str, AppStatus]:
    """What Serve says of its applications, as it stands in a status."""
    return {
        name: AppStatus(
            status=found.status,
            message=found.message,
            serve_deployment_statuses={
                each: ServeDeploymentStatus(status=one.status, message=one.message)
                for each, one in found.deployments.items()
            },
        )
        for name, found in report.applications.items()
    }


def _is_to_be_reported(side: Side) -> bool:
    """Whether somebody before us has told Serve what to run: the report that is to come says whether that is wanted."""
    return side.report is None and side.submitted.at is None and bool(side.status.application_statuses)


def _is_let_be(observed: Observed, side: Side, settings: ServeSettings) -> bool:
    """Whether a cluster keeps what it runs: the old one while traffic leaves it, the new one while it goes back."""
    if not observed.is_incremental(settings):
        return False
    rolling_back = conditions.holds(observed.status, reasons.ROLLBACK_IN_PROGRESS)
    if side.role == "pending":
        return rolling_back
    return conditions.holds(observed.status, reasons.UPGRADE_IN_PROGRESS) and not rolling_back


def _submission(observed: Observed, side: Side, now: datetime) -> tuple[Submit | None, datetime | None]:
    """Whether Serve is to be told what to run, or when to look again."""
    wanted, report, last = Submit(side.name), side.report, side.submitted
    if report is not None and report.trouble is not None:
        return None, None  # the report changes when the trouble ends
    if last.at is None:
        return (None, None) if _has_it_already(observed, report) else (wanted, None)
    if last.config != observed.spec.serve_config_v2:
        return wanted, None
    if report is None or report.applications or not _has_applications(last.config):
        return None, None
    if now >= last.at + PATIENCE:  # clocks of two services differ too much to compare with the report's own time
        return wanted, None  # the head has lost its state
    return None, last.at + PATIENCE


def _has_it_already(observed: Observed, report: ServeReport | None) -> bool:
    """Whether Serve runs just this: then whoever was here before us has told it."""
    is_current = observed.status.observed_generation == observed.service.metadata.generation
    if report is None or not report.applications or not is_current:
        return False
    try:
        wanted = manifests.applications(observed.spec.serve_config_v2)
    except Unbuildable:
        return False
    return wanted == {name: found.config for name, found in report.applications.items()}


def _has_applications(config: str) -> bool:
    try:
        return bool(manifests.applications(config))
    except Unbuildable:
        return False
