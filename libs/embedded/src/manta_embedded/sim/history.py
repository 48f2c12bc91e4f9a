"""What happened in a world, line by line: when, who, what, about which object, and why."""

import sys
from collections.abc import Callable
from types import FrameType

import msgspec

FRAMES = 25  # how far above a call the action that it belongs to is looked for


class Line(msgspec.Struct, frozen=True):
    """One thing that happened."""

    at: float
    who: str
    action: str
    about: str = ""
    because: str = ""

    def __str__(self) -> str:
        return f"{self.at:10.3f}  {self.who:<16} {self.action:<16} {self.about:<44} {self.because}".rstrip()


class History:
    """All lines of a run; two runs of one seed have equal lines. `told` is called after each."""

    def __init__(self, time: Callable[[], float], told: Callable[[], None]) -> None:
        self._time, self._told = time, told
        self.lines: list[Line] = []

    def tell(self, who: str, action: str, about: object = "", because: str = "") -> None:
        """Add a line at this time."""
        self.lines.append(Line(round(self._time(), 6), who, action, str(about), because))
        self._told()

    def of(self, who: str) -> list[Line]:
        """What one service or part of the world did."""
        return [line for line in self.lines if line.who == who]

    def text(self, last: int | None = None) -> str:
        """The last lines, or all, for a person to read."""
        shown = self.lines if last is None else self.lines[-last:]
        missing = len(self.lines) - len(shown)
        above = [f"  ... {missing} lines before"] if missing else []
        return "\n".join([*above, *map(str, shown)])


def reason() -> str:
    """Why the caller makes its call: the `because` of the action that it carries out, else the action's name.

    It is read from the frames above, which hold the action as `action` by the convention of `carry_out(action)`; so
    services need not know that somebody listens.
    """
    frame: FrameType | None = sys._getframe(1)
    for _ in range(FRAMES):
        if frame is None:
            break
        action = frame.f_locals.get("action") if "action" in frame.f_code.co_varnames else None
        if action is not None and not isinstance(action, str):
            return str(getattr(action, "because", "") or type(action).__name__)
        frame = frame.f_back
    return ""
