"""Runs a command and ends every process that came from it: `python -I keeper.py COMMAND ...`.

Some programs (Ray) start processes in sessions of their own, which outlive a signal to the process group. The keeper is
the one that their orphans fall to, so it sees them all. It kills them when it gets SIGTERM, when the command ends, and
when the process that started the keeper dies.
"""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time
from types import FrameType

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
POLL_SECONDS = 0.05


class Ended(Exception):
    """It is time to end."""


def keep(command: list[str]) -> int:
    """Run a command until it ends or we are told to; when this returns, nothing of it is left."""
    signal.signal(signal.SIGTERM, _end)
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    try:
        return subprocess.Popen(command).wait()
    except Ended:
        return 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end_descendants()


def descendants(pid: int) -> list[int]:
    """The processes that came from a process and have not ended."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it ended meanwhile
            continue
        if state != "Z":
            parents[int(stat.parent.name)] = int(parent)
    found, last = set[int](), {pid}
    while last:
        last = {child for child, parent in parents.items() if parent in last} - found
        found |= last
    return sorted(found)


def _end(number: int, frame: FrameType | None) -> None:
    raise Ended


def _end_descendants() -> None:
    """Kill what is left until nothing is; the dead are waited for, so that no process id of ours stays taken."""
    while _has_children():
        for pid in descendants(os.getpid()):
            _kill(pid)
        time.sleep(POLL_SECONDS)


def _has_children() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            continue
    except ChildProcessError:
        return False
    return True


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
