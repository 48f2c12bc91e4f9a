"""The conditions of a RayService as a list that is changed one by one, in the order in which they were first set."""

from datetime import datetime
from typing import Literal

import msgspec

from manta_common.api.meta import Condition
from manta_common.api.rayservice import RayServiceStatuses

Truth = Literal["True", "False", "Unknown"]
LONGEST = 2000  # characters of a message


class Said(msgspec.Struct, frozen=True):
    """What is to be said of one aspect."""

    type: str
    status: Truth
    reason: str
    message: str


def find(status: RayServiceStatuses, type_: str) -> Condition | None:
    """The condition of a type."""
    return next((each for each in status.conditions if each.type == type_), None)


def holds(status: RayServiceStatuses, type_: str) -> bool:
    """Whether a condition is True."""
    found = find(status, type_)
    return found is not None and found.status == "True"


def said(status: RayServiceStatuses, what: Said, now: datetime) -> RayServiceStatuses:
    """The status with one condition set; its time moves only with its status."""
    before = find(status, what.type)
    same = before is not None and before.status == what.status
    made = Condition(
        type=what.type,
        status=what.status,
        observed_generation=status.observed_generation,
        last_transition_time=before.last_transition_time if before and same else now.replace(microsecond=0),
        reason=what.reason,
        message=what.message[:LONGEST],
    )
    if before is None:
        return msgspec.structs.replace(status, conditions=(*status.conditions, made))
    changed = tuple(made if each.type == what.type else each for each in status.conditions)
    return msgspec.structs.replace(status, conditions=changed)


def unsaid(status: RayServiceStatuses, *types: str) -> RayServiceStatuses:
    """The status without some conditions."""
    kept = tuple(each for each in status.conditions if each.type not in types)
    return msgspec.structs.replace(status, conditions=kept)
