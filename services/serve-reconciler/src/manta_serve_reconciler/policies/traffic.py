"""Incremental upgrades: how capacity and traffic move from one cluster to the other, step by step, and back."""

from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec

from manta_common.api.rayservice import ClusterUpgradeOptions, RayServiceStatus
from manta_serve_reconciler.observed import Role

WHOLE: Final = 100  # percent


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How fast an upgrade goes; `rolling_back` turns it round."""

    surge: int = WHOLE
    step: int = WHOLE
    interval: timedelta = timedelta(seconds=1)
    rolling_back: bool = False

    @property
    def growing(self) -> Literal["active", "pending"]:
        """The cluster that gets more."""
        return "active" if self.rolling_back else "pending"


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """Both clusters' parts of capacity and traffic."""

    active: RayServiceStatus
    pending: RayServiceStatus

    @property
    def both(self) -> tuple[RayServiceStatus, RayServiceStatus]:
        """The part of the cluster that serves, and of the one to come."""
        return self.active, self.pending

    def of(self, role: Role) -> RayServiceStatus:
        """One cluster's part."""
        return self.active if role == "active" else self.pending


def pace(options: ClusterUpgradeOptions, *, rolling_back: bool) -> Pace:
    """The pace that a spec asks for."""
    return Pace(
        surge=WHOLE if options.max_surge_percent is None else options.max_surge_percent,
        step=options.step_size_percent,
        interval=timedelta(seconds=options.interval_seconds),
        rolling_back=rolling_back,
    )


def told(shares: Shares) -> Shares:
    """The same with every capacity said: one that served before it was counted has all of it."""
    active, pending = (msgspec.structs.replace(each, target_capacity=_capacity(each, shares)) for each in shares.both)
    return Shares(active=active, pending=pending)


def next_capacity(shares: Shares, role: Role, pace: Pace) -> int | None:
    """The capacity that a cluster is to have next; None when it is not its turn.

    The growing one grows when all traffic that it can take has reached it; the other shrinks in between.
    """
    growing, shrinking = shares.of(pace.growing), shares.of("pending" if pace.rolling_back else "active")
    more, less = _capacity(growing, shares), _capacity(shrinking, shares)
    if more == WHOLE and less == 0:
        return None
    if more != (growing.traffic_routed_percent or 0):
        return None
    if more + less > WHOLE:
        return None if role == pace.growing else max(0, less - pace.surge)
    return min(WHOLE, more + pace.surge) if role == pace.growing else None


def weights(shares: Shares, pace: Pace, now: datetime, *, ready: bool) -> tuple[int, int]:
    """The traffic of both clusters, in percent, from now on; `ready` says whether the new one can take more."""
    active, pending = shares.active.traffic_routed_percent, shares.pending.traffic_routed_percent
    now_active, now_pending = WHOLE if active is None else active, pending or 0
    growing = shares.of(pace.growing)
    share, limit = (now_active if pace.rolling_back else now_pending), _capacity(growing, shares)
    moved_at = growing.last_traffic_migrated_time
    is_early = moved_at is not None and now - moved_at < pace.interval
    if share == limit or is_early or not (ready or pace.rolling_back):
        return now_active, now_pending
    share = min(WHOLE, share + pace.step, limit)
    return (share, WHOLE - share) if pace.rolling_back else (WHOLE - share, share)


def moved(share: RayServiceStatus, weight: int, now: datetime) -> RayServiceStatus:
    """A cluster's part when the route sends it this much."""
    if share.traffic_routed_percent == weight:
        return share
    return msgspec.structs.replace(
        share, traffic_routed_percent=weight, last_traffic_migrated_time=now.replace(microsecond=0)
    )


def is_complete(shares: Shares) -> bool:
    """Whether the new cluster has everything, and the old one nothing."""
    return shares.active.target_capacity == 0 and shares.pending.traffic_routed_percent == WHOLE


def is_back(shares: Shares) -> bool:
    """Whether the old cluster has everything again."""
    return shares.active.target_capacity == WHOLE and shares.active.traffic_routed_percent == WHOLE


def is_drained(share: RayServiceStatus) -> bool:
    """Whether a cluster has nothing left."""
    return share.target_capacity == 0 and share.traffic_routed_percent == 0


def _capacity(share: RayServiceStatus, shares: Shares) -> int:
    """What is not said yet: the cluster that serves has everything, the one to come nothing."""
    if share.target_capacity is not None:
        return share.target_capacity
    return WHOLE if share is shares.active else 0
