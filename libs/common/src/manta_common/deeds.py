"""Actions that every reconciler knows, and the words of events about an act: how it went, well or not. Pure."""

from datetime import datetime
from typing import Literal

import msgspec

Severity = Literal["Normal", "Warning"]


class Words(msgspec.Struct, frozen=True):
    """Reason and note of both events; `{place}` is the object, `{error}` what went wrong."""

    action: str
    reason: str
    note: str
    failed_reason: str
    failed_note: str


class Tell(msgspec.Struct, frozen=True, tag=True):
    """Record an event about the object."""

    severity: Severity
    reason: str
    action: str
    note: str


class Recheck(msgspec.Struct, frozen=True, tag=True):
    """Look again at a time, at the latest."""

    at: datetime
