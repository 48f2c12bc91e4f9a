"""The outcome of a decision about a RayService: what to do first, what the status says then, and what follows."""

from datetime import datetime

import msgspec

from manta_common.api.rayservice import RayServiceStatuses
from manta_common.deeds import Tell
from manta_serve_reconciler.actions import Action


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Phases, then the status and what is told of it, then what may fail without holding up the status.

    At `due` something changes by time alone.
    """

    status: RayServiceStatuses
    phases: tuple[tuple[Action, ...], ...] = ()
    told: tuple[Tell, ...] = ()
    then: tuple[tuple[Action, ...], ...] = ()
    due: tuple[datetime, ...] = ()
