"""The time zone of schedules that name none."""

from datetime import UTC, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

MACHINE: Final = Path("/etc/localtime")


def local_zone(name: str, machine: Path = MACHINE) -> tzinfo:
    """The zone of this name; without one the machine's own, with its changes of the clock, and else UTC, as in Go."""
    if name and name != "Local":
        return ZoneInfo(name)
    try:
        with machine.open("rb") as file:
            return ZoneInfo.from_file(file, key="Local")
    except (OSError, ValueError):  # no such file, as in many images, or none that tells a zone
        return UTC
