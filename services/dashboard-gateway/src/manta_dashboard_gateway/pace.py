"""How often a dashboard is asked; pure."""

from typing import Literal

import msgspec

Breaker = Literal["closed", "half_open", "open"]
State = Literal["usual", "new", "moving", "settled"]  # of what is followed
BREAKERS: tuple[Breaker, ...] = ("closed", "half_open", "open")


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds between two questions: usually, while something is new or in motion, and at most.

    When more is new than can be asked for at `new_per_second`, each is asked less often. So many failures in a row
    open the breaker.
    """

    usual_seconds: float = 3.0
    new_seconds: float = 0.5
    moving_seconds: float = 1.0
    new_per_second: float = 100.0
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


def delay_seconds(pace: Pace, course: Course, state: State, *, chance: float, new: int = 0) -> float:
    """When to ask again: never later than the pace says, and up to `jitter` of it earlier, by chance (from 0 to 1).

    While something is new, a failing dashboard is asked again soon; what is settled (nothing can change) rarely. `new`
    is for how many clusters that is so at this moment.
    """
    seconds = _least_seconds(pace, state)
    if state == "new":
        seconds = max(seconds, min(pace.usual_seconds, new / pace.new_per_second))
    if course.failures:
        most = pace.usual_seconds if state == "new" else pace.longest_seconds
        seconds = min(most, seconds * 2.0 ** min(course.failures, 20))
    return seconds * (1 - pace.jitter * chance)


def _least_seconds(pace: Pace, state: State) -> float:
    match state:
        case "settled":
            return pace.longest_seconds
        case "new":
            return pace.new_seconds
        case "moving":
            return min(pace.moving_seconds, pace.usual_seconds)
        case "usual":
            return pace.usual_seconds


def first_delay_seconds(pace: Pace, *, new: bool, untold: bool, chance: float) -> float:
    """When to ask for the first time: at once what is new, the rest spread over one interval.

    Serve that was told nothing yet will be by way of us, mostly within milliseconds, and is asked then.
    """
    if untold:
        return pace.new_seconds
    return 0.0 if new else pace.usual_seconds * chance
