"""Loopback ports for servers that are killed and come back on the same port."""

import fcntl
import os
import pathlib
import random
import socket
import tempfile

# Below what the kernel hands out to clients (32768 and up), so that no connection takes the port of a server that is
# down; above what Ray gives to its workers, and beside the NodePorts of Kubernetes.
FIRST, LAST = 20000, 29999


class Ports:
    """Hands out each port once, and keeps it from other sessions of tests until this process ends."""

    def __init__(self, book: pathlib.Path) -> None:
        self._book = book
        self._opened = -1
        self._taken: set[int] = set()

    def take(self, count: int) -> list[int]:
        """Different ports that nobody listens on and nobody has been given."""
        ports: list[int] = []
        for port in random.sample(range(FIRST, LAST + 1), LAST - FIRST + 1):
            if len(ports) < count and port not in self._taken and self._reserve(port) and _is_free(port):
                self._taken.add(port)
                ports.append(port)
        if len(ports) == count:
            return ports
        raise OSError(f"{count} free ports between {FIRST} and {LAST} are wanted, {len(ports)} are there")

    def _reserve(self, port: int) -> bool:
        """Lock the port's byte of the book, unless another process has; the kernel unlocks it when we end."""
        if self._opened < 0:
            self._opened = os.open(self._book, os.O_CREAT | os.O_RDWR)  # not closed: that would give all locks back
        try:
            fcntl.lockf(self._opened, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except OSError:
            return False
        return True


_PORTS = Ports(pathlib.Path(tempfile.gettempdir()) / f"manta-test-ports-{os.getuid()}")


def free_port() -> int:
    """A port that nobody listens on."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Different ports that nobody listens on."""
    return _PORTS.take(count)


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
