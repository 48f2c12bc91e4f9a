"""The outcome of one state of a RayJob: what to do first, and what the status says then."""

from datetime import datetime
from typing import Any

import msgspec

from manta_common.api.meta import Condition
from manta_common.api.rayjob import RayJobStatus
from manta_common.deeds import Tell
from manta_job_reconciler.actions import Action
from manta_job_reconciler.reasons import FAILED


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Phases of actions, the status, what is told of it, what it allows; at `due` something changes by time alone."""

    status: RayJobStatus
    phases: tuple[tuple[Action, ...], ...] = ()
    told: tuple[Tell, ...] = ()
    then: tuple[tuple[Action, ...], ...] = ()  # only after the status was written
    due: tuple[datetime, ...] = ()


def said(status: RayJobStatus, **changes: Any) -> RayJobStatus:
    """Return the status with some fields changed."""
    return msgspec.structs.replace(status, **changes)


def find(status: RayJobStatus, type_: str) -> Condition | None:
    """The condition of a type."""
    return next((condition for condition in status.conditions if condition.type == type_), None)


def failed(status: RayJobStatus, reason: str, message: str) -> Step:
    """The attempt has failed."""
    return Step(status=said(status, job_deployment_status=FAILED, reason=reason, message=message))
