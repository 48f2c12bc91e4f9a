"""Finds and ends processes by what /proc says of them. Standard library only."""

import os
import pathlib
import signal
import time

POLL_SECONDS = 0.05


def all_pids() -> list[int]:
    """Every process that this one can see."""
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]


def mounts_of(pid: int) -> str:
    """Which mount namespace a process is in; empty for one that has ended or is another's."""
    try:
        return str(pathlib.Path(f"/proc/{pid}/ns/mnt").readlink())
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    """The processes that came from a process."""
    parents: dict[int, int] = {}
    for one in all_pids():
        try:
            parents[one] = int(pathlib.Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, last = set[int](), {pid}
    while last:
        last = {child for child, parent in parents.items() if parent in last} - found
        found |= last
    return sorted(found)


def kill(pid: int, number: int) -> None:
    """Send a signal; to a process that is gone is fine."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def end_all() -> None:
    """Kill every descendant of this process until there is none."""
    while _has_children():
        for pid in descendants(os.getpid()):
            kill(pid, signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def _has_children() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            continue
    except ChildProcessError:
        return False
    return True
