"""The open connections of a process, as the kernel tells of them."""

import collections
import contextlib
import os
import pathlib
import re
from collections.abc import Iterator

ESTABLISHED = "01"
SOCKET = re.compile(r"socket:\[(\d+)\]")


def connections(pid: int) -> collections.Counter[int]:
    """How many established connections a process has to each port."""
    own = set(_inodes(pid))
    tables = (pathlib.Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6"))
    return collections.Counter(port for text in tables for inode, port in established(text) if inode in own)


def established(table: str) -> Iterator[tuple[int, int]]:
    """The inodes and the ports at the other end of the established connections of a table such as `/proc/net/tcp`."""
    for line in table.splitlines()[1:]:
        fields = line.split()
        if fields[3] == ESTABLISHED:
            yield int(fields[9]), int(fields[2].rpartition(":")[2], 16)


def _inodes(pid: int) -> Iterator[int]:
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since the folder was read
            if found := SOCKET.fullmatch(os.readlink(entry)):  # noqa: PTH115  it names no path
                yield int(found[1])
