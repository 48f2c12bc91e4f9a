"""Whether a process can do its work, and if not, what is missing."""

from collections.abc import Callable


class Health:
    """Ready when nothing is missing; whoever needs something says so."""

    def __init__(self) -> None:
        self._needs: dict[str, Callable[[], str]] = {}

    def need(self, what: str, missing: Callable[[], str]) -> None:
        """Be ready only while `missing` has nothing to say, in words such as `not connected`."""
        self._needs[what] = missing

    def missing(self) -> list[str]:
        """A line for everything that is missing."""
        return [f"{what}: {reason}" for what, missing in self._needs.items() if (reason := missing())]
