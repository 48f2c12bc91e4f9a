"""Which processes the node has started, on disk, so that a later life can end what an earlier one left behind."""

import pathlib
import signal

import msgspec

from manta_embedded.node.pid1 import processes

PROC = pathlib.Path("/proc")


class Entry(msgspec.Struct, frozen=True):
    """A process: its number, and when it began, for numbers are used again."""

    pid: int
    began: str


class Ledger:
    """The first processes of all pods; when one ends, everything in its pod does."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._entries: dict[str, Entry] = {}

    def add(self, uid: str, pid: int) -> None:
        """A pod has begun."""
        self._entries[uid] = Entry(pid, began(pid))
        self._save()

    def drop(self, uid: str) -> None:
        """A pod has ended."""
        if self._entries.pop(uid, None) is not None:
            self._save()

    def end_orphans(self) -> list[int]:
        """Kill the processes that an earlier life recorded and that still run; which they were."""
        found = [entry.pid for entry in _read(self._path).values() if entry.began and began(entry.pid) == entry.began]
        for pid in found:
            for one in (*processes.descendants(pid), pid):
                processes.kill(one, signal.SIGKILL)
        self._save()
        return found

    def _save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        written = self._path.with_suffix(".new")
        written.write_bytes(msgspec.json.encode(self._entries))
        written.replace(self._path)


def began(pid: int) -> str:
    """When a process began, in the kernel's ticks since the machine's start; empty when there is none."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _read(path: pathlib.Path) -> dict[str, Entry]:
    """A file that cannot be read names nobody: better a process too many than one killed that is not ours."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Entry])
    except (OSError, msgspec.DecodeError):
        return {}
