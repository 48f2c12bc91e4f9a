"""Which events are one and the same, so that a repeated one raises a count and makes no new object. Pure."""

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from manta_common.api.core import ObjectReference
from manta_common.keys import Key

NOTE_BYTES, WORD_CHARACTERS, NAME_CHARACTERS = 1024, 128, 253  # more is refused by the API server


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be told: by which controller, and in which words."""

    controller: str
    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str


class Series:
    """One event: how often it was seen, how often the server knows of, and when it is to be written next."""

    def __init__(self, key: Key, body: dict[str, Any], seen_at: datetime) -> None:
        self.key, self.body = key, body
        self.count, self.seen_at = 1, seen_at
        self.written, self.tries = 0, 0
        self.due_at = seen_at

    @property
    def waiting(self) -> bool:
        """Whether the server does not know the newest count."""
        return self.count != self.written

    def repeat(self, now: datetime) -> None:
        """It was seen once more."""
        self.count, self.seen_at = self.count + 1, now

    def wrote(self, count: int, *, next_at: datetime) -> None:
        """The server knows this count; it need not hear of another before that time."""
        self.written, self.due_at, self.tries = count, next_at, 0

    def series(self) -> dict[str, Any]:
        """The field of that name; empty for an event that was seen once."""
        return {"series": {"count": self.count, "lastObservedTime": micro_time(self.seen_at)}} if self.count > 1 else {}


class Ledger:
    """The events of late, in bounded number; the one that was not seen for longest is forgotten first."""

    def __init__(self, instance: str, *, window: timedelta, capacity: int) -> None:
        self._instance, self._window, self._capacity = instance, window, capacity
        self._series: OrderedDict[tuple[str, ...], Series] = OrderedDict()
        self._waiting: dict[tuple[str, ...], Series] = {}  # and some that have been written since
        self._number = 0
        self.forgotten = 0  # events that had no room before the server heard of them

    def see(self, regarding: ObjectReference, notice: Notice, now: datetime) -> Series:
        """The event as it now stands."""
        identity = _identity(regarding, notice)
        known = self._series.pop(identity, None)
        if known is None or now - known.seen_at > self._window:
            known = self._begin(regarding, notice, now)
        else:
            known.repeat(now)
        self._series[identity] = known
        self._waiting.pop(identity, None)
        self._waiting[identity] = known
        if len(self._series) > self._capacity:
            oldest, forgotten = self._series.popitem(last=False)
            self._waiting.pop(oldest, None)
            self.forgotten += forgotten.waiting
        return known

    def waiting(self) -> tuple[Series, ...]:
        """The events that the server has not heard all of."""
        self._waiting = {identity: series for identity, series in self._waiting.items() if series.waiting}
        return tuple(self._waiting.values())

    def _begin(self, regarding: ObjectReference, notice: Notice, now: datetime) -> Series:
        self._number = (self._number + 1) % 1000
        stamp = f"{int(now.timestamp() * 1_000_000) * 1000 + self._number:x}"
        name = f"{regarding.name[: NAME_CHARACTERS - len(stamp) - 1].rstrip('-.')}.{stamp}"
        key = Key(regarding.namespace or "default", name)
        return Series(key, _body(key, regarding, notice, seen_at=now, instance=self._instance), now)


def micro_time(moment: datetime) -> str:
    """A time as Kubernetes' MicroTime wants it: always six digits."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def shortened(note: str) -> str:
    """A note that the server takes, cut at a character."""
    encoded = note.encode()
    if len(encoded) <= NOTE_BYTES:
        return note
    return encoded[: NOTE_BYTES - 3].decode(errors="ignore") + "..."


def _identity(regarding: ObjectReference, notice: Notice) -> tuple[str, ...]:
    """As in client-go the note does not count, so that one event stands for many pods; but another warning is news."""
    note = notice.note if notice.type == "Warning" else ""
    about = (regarding.kind, regarding.namespace, regarding.name, regarding.uid)
    return (*about, notice.controller, notice.type, notice.reason, notice.action, note)


def _body(key: Key, regarding: ObjectReference, notice: Notice, *, seen_at: datetime, instance: str) -> dict[str, Any]:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "eventTime": micro_time(seen_at),
        "reportingController": notice.controller,
        "reportingInstance": f"{notice.controller}-{instance}"[:WORD_CHARACTERS],
        "type": notice.type,
        "reason": notice.reason,
        "action": notice.action,
        "note": shortened(notice.note),
        "regarding": regarding,
    }
