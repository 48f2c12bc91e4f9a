"""The simulated NATS' memory: the last message on each subject, in order, some of them for a while only."""

import heapq
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from manta_common.bus.faults import too_large
from manta_common.bus.protocol import Message
from manta_common.clock import Clock
from manta_common.errors import Conflict

LARGEST_BODY = 8 * 1024 * 1024
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
EVERYTHING = ""  # in place of a subject
Listener = Callable[[str], None]
Wants = Callable[[str], object]
SYNC_SECONDS = 120.0  # what is younger may not be on the disk yet


class Stream:
    """The last message on each subject. `life` is another one after everything was lost."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.last = self.life = 0
        self.created_at = EPOCH
        self._messages: dict[str, Message] = {}  # in the order of their sequences
        self._ends: list[tuple[float, int, str]] = []
        self._expires_at: dict[str, float] = {}
        self._listeners: dict[Listener, Wants] = {}
        self._audiences: dict[str, tuple[Listener, ...]] = {}  # of each subject
        self._unsynced: deque[tuple[float, str, Message | None, float | None]] = deque()  # what stood there before

    def write(self, message: Message, expect: int | None, ttl_seconds: float | None) -> int:
        """Store a message under the next sequence; Conflict when the subject's last one is not the expected."""
        if len(message.body) > LARGEST_BODY:
            raise too_large(message.subject)
        before = self.find(message.subject)
        if expect is not None and expect != (before.sequence if before else 0):
            raise Conflict(f"{message.subject} is not at {expect}")
        self.last += 1
        self._unsynced.append((self._clock.monotonic(), message.subject, before, self._expires_at.get(message.subject)))
        self.remove(message.subject)
        self._messages[message.subject] = Message(
            subject=message.subject, body=message.body, sequence=self.last, headers=dict(message.headers)
        )
        if ttl_seconds is not None:
            expires_at = self._expires_at[message.subject] = self._clock.monotonic() + ttl_seconds
            heapq.heappush(self._ends, (expires_at, self.last, message.subject))
        self.notify(message.subject)
        return self.last

    def find(self, subject: str) -> Message | None:
        """The last message on a subject."""
        self._expire()
        return self._messages.get(subject)

    def living(self) -> dict[str, Message]:
        """What has not expired, in order."""
        self._expire()
        return dict(self._messages)

    def words(self, subjects: Iterable[str]) -> list[Message]:
        """The last words on some subjects, in the order of these."""
        self._expire()
        return [message for subject in subjects if (message := self._messages.get(subject))]

    def remove(self, subject: str) -> None:
        """Remove a message without a trace."""
        self._messages.pop(subject, None)
        self._expires_at.pop(subject, None)

    def wipe(self) -> None:
        """Lose everything, as a NATS does whose disk was wiped."""
        self.last, self.life = 0, self.life + 1
        self.created_at = EPOCH + timedelta(seconds=self._clock.monotonic(), microseconds=self.life)
        self._messages.clear()
        self._expires_at.clear()
        self._unsynced.clear()
        self.notify(EVERYTHING)

    def lose_tail(self, seconds: float) -> None:
        """Lose what was written last, as a NATS does whose machine lost power before its disk was synced."""
        since = self._clock.monotonic() - seconds
        while self._unsynced and self._unsynced[-1][0] >= since:
            _, subject, before, expires_at = self._unsynced.pop()
            self.remove(subject)
            self.last -= 1
            if before:
                self._messages[subject] = before
            if before and expires_at is not None:
                self._expires_at[subject] = expires_at
                heapq.heappush(self._ends, (expires_at, before.sequence, subject))
        self._messages = dict(sorted(self._messages.items(), key=lambda item: item[1].sequence))
        self.notify(EVERYTHING)

    @property
    def next_end_at(self) -> float | None:
        """When the next message expires."""
        self._expire()
        return self._ends[0][0] if self._ends else None

    def listen(self, listener: Listener, wants: Wants = lambda _: True) -> None:
        """Have a function called with the subject of every change that it wants, but not when something expires."""
        self._listeners[listener] = wants
        self._audiences.clear()

    def ignore(self, listener: Listener) -> None:
        """Call it no more."""
        self._listeners.pop(listener, None)
        self._audiences.clear()

    def notify(self, subject: str) -> None:
        """Tell everybody who listens."""
        if subject not in self._audiences:
            everybody = self._listeners.items()
            found = (listener for listener, wants in everybody if subject == EVERYTHING or wants(subject))
            self._audiences[subject] = tuple(found)
        for listener in self._audiences[subject]:
            listener(subject)

    def _expire(self) -> None:
        now = self._clock.monotonic()
        while self._unsynced and self._unsynced[0][0] < now - SYNC_SECONDS:
            self._unsynced.popleft()
        while self._ends and (self._ends[0][0] <= now or self._is_stale(*self._ends[0])):
            expires_at, sequence, subject = heapq.heappop(self._ends)
            if not self._is_stale(expires_at, sequence, subject):
                self.remove(subject)

    def _is_stale(self, expires_at: float, sequence: int, subject: str) -> bool:
        """Whether another message has taken its place."""
        return self._expires_at.get(subject) != expires_at or self._messages[subject].sequence != sequence


def matcher(patterns: Sequence[str]) -> Wants:
    """Tells whether a subject is one of those that some patterns of NATS mean."""
    return re.compile("|".join(_expression(pattern) for pattern in patterns)).fullmatch


def _expression(pattern: str) -> str:
    words = {"*": r"[^.]+", ">": r".+"}
    return r"\.".join(words.get(token) or re.escape(token) for token in pattern.split("."))
