"""What waits for its time, and how late what was due was done: for metrics and `/debug/state`."""

import heapq
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from manta_common.plane import Item
from manta_common.telemetry import names
from manta_common.telemetry.metrics import Registry
from manta_janitor.policies.endings import Deletion, Plan

SHOWN: Final = 50
_POLICIES: Final = names.POLICIES


class Queue:
    """The next deletion of every job that this replica looks after; `is_ours` says whether it still does."""

    def __init__(self, metrics: Registry, now: Callable[[], datetime], is_ours: Callable[[Item], bool]) -> None:
        self._next: dict[Item, int] = {}  # second and policy in one number: a hundred thousand of them wait
        self._now, self._is_ours = now, is_ours
        self._ended = metrics.numbers(names.DELETIONS)
        self._late = metrics.distributions(names.DELETION_LATE_SECONDS)
        metrics.numbers(names.DELETIONS_PENDING).read_all(self._counted)

    def put(self, item: Item, plan: Plan) -> bool:
        """This is what is planned for a job; whether that was known."""
        following = plan.due or plan.upcoming
        if following is None:
            self._next.pop(item, None)
            return False
        code = int(following.at.timestamp()) * len(_POLICIES) + _POLICIES.index(following.policy)
        known = self._next.get(item) == code
        self._next[item] = code
        return known

    def forget(self, item: Item) -> None:
        """The job is gone."""
        self._next.pop(item, None)

    def lose(self, belongs: Callable[[Item], bool]) -> None:
        """Somebody else looks after these jobs from now on; what comes of them is not heard here."""
        for item in [item for item in self._next if belongs(item)]:
            self.forget(item)

    def done(self, deletion: Deletion) -> None:
        """A deletion was carried out."""
        self._ended.at(deletion.policy, "done").add()
        self._late.at(deletion.policy).observe(max(0.0, (self._now() - deletion.at).total_seconds()))

    def failed(self, deletion: Deletion) -> None:
        """A deletion could not be carried out; it will be tried again."""
        self._ended.at(deletion.policy, "failed").add()

    def shown(self) -> dict[str, object]:
        """How much waits, and what comes first."""
        self._drop_others()
        first = heapq.nsmallest(SHOWN, self._next.items(), key=lambda each: each[1])
        told = [
            {"key": str(item), "at": f"{_at(code):%Y-%m-%dT%H:%M:%SZ}", "policy": _policy(code)} for item, code in first
        ]
        return {"pending": len(self._next), "next": told}

    def _counted(self) -> list[tuple[tuple[str, ...], float]]:
        self._drop_others()
        now = self._now()
        found = Counter((_policy(code), "due" if _at(code) <= now else "pending") for code in self._next.values())
        return [((policy, state), found[policy, state]) for policy in _POLICIES for state in names.DELETION_STATES]

    def _drop_others(self) -> None:
        """Jobs of partitions that were handed over are somebody else's to count."""
        for item in [item for item in self._next if not self._is_ours(item)]:
            del self._next[item]


def _at(code: int) -> datetime:
    return datetime.fromtimestamp(code // len(_POLICIES), UTC)


def _policy(code: int) -> str:
    return _POLICIES[code % len(_POLICIES)]
