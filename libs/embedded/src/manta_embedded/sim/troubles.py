"""What goes wrong with a service's calls to the API server: by script, or by chance."""

import random
from collections.abc import Callable

import msgspec

from manta_common.errors import Conflict, Expired, MantaError, Refused, Throttled, Unreachable
from manta_embedded.store.kube import Call

WRITES = frozenset({"create", "patch", "apply", "delete"})
READS = frozenset({"get", "list", "watch"})
LINES = frozenset({"line"})  # what a watch brings: an error there ends the watch
Error = Callable[[str], MantaError]


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """What happens at a call: it takes longer, is refused, is carried out without an answer, or is the caller's last.

    `applied`: the call is carried out, and then it goes wrong. `crash`: the service dies, before or after that.
    """

    error: Error | None = None
    applied: bool = False
    crash: bool = False
    delay_seconds: float = 0.0
    because: str = "script"

    def __str__(self) -> str:
        done = "carried out" if self.applied else "not carried out"
        what = ["the service dies"] if self.crash else []
        what += [type(self.error("")).__name__] if self.error else []
        if not what:
            return f"{self.delay_seconds:g} s late"
        return f"{' and '.join(what)}, {done}"


class Script(msgspec.Struct, kw_only=True):
    """A trouble at the n-th call of some verbs and kinds from now on, and at so many after it."""

    trouble: Trouble
    verbs: frozenset[str] = WRITES
    kind: str = ""  # its word, as in `Kind.name`
    nth: int = 1
    times: int = 1

    def strikes(self, call: Call) -> bool:
        """Count a call; whether the trouble is due."""
        if call.verb not in self.verbs or self.kind not in ("", call.kind.name) or self.times <= 0:
            return False
        self.nth -= 1
        if self.nth > 0:
            return False
        self.times -= 1
        return True


class Storm(msgspec.Struct, frozen=True, kw_only=True):
    """How likely each trouble is at a call, while the storm lasts."""

    unanswered: float = 0.02  # of writes and reads: no answer; every second one was carried out
    refused: float = 0.01  # throttled, conflict, an internal error
    slow: float = 0.05
    dropped_line: float = 0.02
    crash: float = 0.004  # at a write, before or after it

    def trouble(self, call: Call, chance: random.Random) -> Trouble | None:
        """What happens at this call."""
        luck = chance.random()
        if call.verb in LINES:
            return (
                Trouble(error=chance.choice([unreachable, expired]), because="storm")
                if luck < self.dropped_line
                else None
            )
        for limit, make in self._table(call):
            if luck < limit:
                return make(chance)
            luck -= limit
        return None

    def _table(self, call: Call) -> list[tuple[float, Callable[[random.Random], Trouble]]]:
        if call.verb == "line":
            return [(self.dropped_line, _dropped)]
        crash = self.crash if call.verb in WRITES else 0.0
        return [(self.unanswered, _unanswered), (self.refused, _refused), (self.slow, _slow), (crash, _crash)]


def unreachable(text: str) -> MantaError:
    """No answer."""
    return Unreachable(text)


def conflict(text: str) -> MantaError:
    """Somebody wrote first."""
    return Conflict(text)


def throttled(text: str) -> MantaError:
    """Too many requests."""
    return Throttled(text, retry_after_seconds=1.0)


def expired(text: str) -> MantaError:
    """The version is too old."""
    return Expired(text)


def forbidden(text: str) -> MantaError:
    """The rights are missing."""
    return Refused(403, "Forbidden", text)


def _dropped(chance: random.Random) -> Trouble:
    return Trouble(error=chance.choice([unreachable, expired]), because="storm")


def _unanswered(chance: random.Random) -> Trouble:
    return Trouble(error=unreachable, applied=chance.random() < 0.5, because="storm")


def _refused(chance: random.Random) -> Trouble:
    return Trouble(error=chance.choice([throttled, unreachable]), because="storm")


def _slow(chance: random.Random) -> Trouble:
    return Trouble(delay_seconds=chance.choice([0.05, 0.5, 3.0]), because="storm")


def _crash(chance: random.Random) -> Trouble:
    return Trouble(crash=True, applied=chance.random() < 0.5, because="storm")
