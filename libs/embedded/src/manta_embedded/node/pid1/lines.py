"""Logs as a kubelet keeps them: every line with its time and stream, in files of bounded size.

Standard library only.
"""

import os
import pathlib
from datetime import UTC, datetime

LONGEST_LINE = 16 * 1024  # what is longer is split, and its parts are marked
FULL_BYTES = 10 * 1024 * 1024


class Log:
    """The log of one life of a container; when it is full it begins anew, and the old part is kept beside it."""

    def __init__(self, path: str, *, full_bytes: int = FULL_BYTES) -> None:
        self._path, self._full_bytes = path, full_bytes
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        self._size = os.fstat(self._file).st_size

    def write(self, stream: str, lines: list[tuple[bytes, bool]]) -> None:
        """Add lines; those that are not whole go on in the next one of the same stream."""
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
        text = b"".join(
            b"%s %s %s %s\n" % (moment.encode(), stream.encode(), b"F" if whole else b"P", line)
            for line, whole in lines
        )
        while text:
            written = os.write(self._file, text)
            self._size, text = self._size + written, text[written:]
        if self._size >= self._full_bytes:
            self._begin_anew()

    def close(self) -> None:
        """No more lines come."""
        os.close(self._file)

    def _begin_anew(self) -> None:
        os.close(self._file)
        pathlib.Path(self._path).replace(f"{self._path}.1")
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        self._size = 0


class Splitter:
    """Cuts what a process writes into lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[tuple[bytes, bool]]:
        """The lines that are there now, each with whether it ended."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        found = [part for line in lines for part in _parts(line)]
        while len(self._rest) > LONGEST_LINE:
            found.append((self._rest[:LONGEST_LINE], False))
            self._rest = self._rest[LONGEST_LINE:]
        return found

    def end(self) -> list[tuple[bytes, bool]]:
        """What is left at the end, which had no end of line."""
        rest, self._rest = self._rest, b""
        return [(rest, False)] if rest else []


def _parts(line: bytes) -> list[tuple[bytes, bool]]:
    pieces = [line[start : start + LONGEST_LINE] for start in range(0, len(line), LONGEST_LINE)] or [b""]
    return [*((piece, False) for piece in pieces[:-1]), (pieces[-1], True)]
