"""Runs a module whose time of day jumps: `python -m tests.parts.stepped_clock SECONDS MODULE ARGUMENT...`.

It begins SECONDS off, and every SIGUSR1 sets it off by as much to the other side. What goes on steadily (the monotonic
clocks) is left alone, as by an administrator who sets the clock of a machine. Everything that is imported afterwards
gets its time of day from here, if it asks Python's `time` module; nothing in Manta that matters asks another way
(`tests/unit/project` sees to that).
"""

import runpy
import signal
import sys
import time
from types import FrameType

_time, _time_ns, _clock_gettime = time.time, time.time_ns, time.clock_gettime


class SteppedClock:
    """The machine's time of day and a number of seconds that changes at a blow."""

    def __init__(self, off_seconds: int) -> None:
        self.off_seconds = off_seconds

    def install(self) -> None:
        """From now on this is the time of day of the process."""
        time.time, time.time_ns, time.clock_gettime = self.time, self.time_ns, self.clock_gettime
        signal.signal(signal.SIGUSR1, self.step)

    def step(self, _: int, __: FrameType | None) -> None:
        """Off by as much to the other side."""
        self.off_seconds = -self.off_seconds

    def time(self) -> float:
        """Seconds since 1970, wrong."""
        return _time() + self.off_seconds

    def time_ns(self) -> int:
        """The same in nanoseconds."""
        return _time_ns() + self.off_seconds * 1_000_000_000

    def clock_gettime(self, clock: int) -> float:
        """Only the time of day is wrong."""
        return self.time() if clock == time.CLOCK_REALTIME else _clock_gettime(clock)


if __name__ == "__main__":
    _, seconds, module, *arguments = sys.argv
    SteppedClock(int(seconds)).install()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
