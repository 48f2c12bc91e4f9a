"""Messages between the node and the first process of a pod: lines of JSON over a Unix socket, with open files.

Standard library only.
"""

import json
import os
import socket
import tempfile
from collections import deque
from typing import Any

MOST_FILES = 8
Message = dict[str, Any]


class Wire:
    """One end. A message names how many files come with it; large parts go as a file."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._rest = b""
        self._files: deque[int] = deque()

    def send(self, message: Message, files: tuple[int, ...] = ()) -> None:
        """Send a message; the other end gets its own copies of the files."""
        line = json.dumps({**message, "files": len(files)}).encode() + b"\n"
        if files:
            socket.send_fds(self.end, [line], list(files))
        else:
            self.end.sendall(line)

    def receive(self) -> list[tuple[Message, list[int]]] | None:
        """What has come; None when the other end is closed."""
        chunk, files, _, _ = socket.recv_fds(self.end, 65536, MOST_FILES)
        if not chunk:
            return None
        self._files.extend(files)
        for file in files:
            os.set_inheritable(file, False)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        found = [json.loads(line) for line in lines]
        return [(message, [self._files.popleft() for _ in range(message["files"])]) for message in found]


def packed(content: Message) -> int:
    """A file with a message that may be large."""
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(content).encode())
        file.flush()
        return os.dup(file.fileno())


def unpacked(file: int) -> Message:
    """What is in such a file; it is closed."""
    with os.fdopen(file, "rb") as opened:
        opened.seek(0)
        found: Message = json.loads(opened.read())
        return found
