"""How often a dashboard is asked; pure."""

from typing import Literal

import msgspec

Breaker = Literal["closed", "half_open", "open"]
BREAKERS: tuple[Breaker, ...] = ("closed", "half_open", "open")


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds between two questions: usually, while something is new, and at most; failures that open the breaker."""

    usual_seconds: float = 3.0
    new_seconds: float = 0.5
    longest_seconds: float = 30.0
    jitter: float = 0.1
    tolerated_failures: int = 3


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """How it goes with one dashboard: failures in a row, and whether the breaker has opened."""

    failures: int = 0
    broken: bool = False

    def answered(self) -> "Course":
        """The dashboard answered."""
        return Course()

    def failed(self, pace: Pace) -> "Course":
        """It did not."""
        failures = self.failures + 1
        return Course(failures=failures, broken=self.broken or failures >= pace.tolerated_failures)

    def breaker(self, *, asking: bool) -> Breaker:
        """Closed while all is well; open after several failures, when only one question now and then is let through."""
        if not self.broken:
            return "closed"
        return "half_open" if asking else "open"


def delay_seconds(pace: Pace, course: Course, *, new: bool, settled: bool, chance: float) -> float:
    """When to ask again: never later than the pace says, and up to `jitter` of it earlier, by chance (from 0 to 1).

    While something is new, a failing dashboard is asked again soon; what is settled (nothing can change) rarely.
    """
    least = pace.longest_seconds if settled else pace.new_seconds if new else pace.usual_seconds
    most = pace.usual_seconds if new and not settled else pace.longest_seconds
    seconds = min(most, least * 2.0 ** min(course.failures, 20))
    return seconds * (1 - pace.jitter * chance)


def first_delay_seconds(pace: Pace, *, new: bool, chance: float) -> float:
    """When to ask for the first time: at once what is new, the rest spread over one interval."""
    return 0.0 if new else pace.usual_seconds * chance
