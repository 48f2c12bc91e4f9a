"""The times of ownership, and what a service is told."""

from collections.abc import Awaitable, Callable

import msgspec

from manta_common.partitions import PARTITIONS

Told = Callable[[int], Awaitable[None]]


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """`fence_seconds` must be less than `ttl_seconds`: an owner stops before anyone else may start."""

    ttl_seconds: float = 6
    renew_seconds: float = 2
    fence_seconds: float = 4
    retry_seconds: float = 0.25
    look_seconds: float = 1  # how often to look whether something is to be done, though nothing has changed
    drain_seconds: float = 10


def _ignore(_move: str) -> None:
    """Nobody wants to know."""


class Ownership(msgspec.Struct, frozen=True, kw_only=True):
    """What a service shares among its replicas, and whom to tell.

    `acquired` returns when the partition is being worked on, `released` when nothing of it is under way any more;
    `released` is cut off after `times.drain_seconds`. Both must not raise. `moved` is for telemetry: a partition was
    `claimed` or `taken_over` from a dead replica, `released` or `lost` because our membership had lapsed.
    """

    service: str
    acquired: Told
    released: Told
    partitions: int = PARTITIONS
    times: Times = Times()
    moved: Callable[[str], None] = _ignore
