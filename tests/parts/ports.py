"""Loopback ports for servers that are killed and come back on the same port."""

import contextlib
import functools
import itertools
import random
import socket
from collections.abc import Iterator

# Below what the kernel hands out to clients (32768 and up), so that no connection takes the port of a server that is
# down; above what Ray gives to its workers, and beside the NodePorts of Kubernetes.
FIRST, LAST = 20000, 29999


def free_port() -> int:
    """A port that nobody listens on."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Different ports that nobody listens on."""
    with contextlib.ExitStack() as held:
        ports: list[int] = []
        for port in itertools.islice(_order(), LAST - FIRST + 1):
            if len(ports) == count:
                break
            listener = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                listener.bind(("127.0.0.1", port))
                ports.append(port)
        return ports


@functools.cache
def _order() -> Iterator[int]:
    """All ports, over and over: one that was given is not given again soon, though its server may not listen yet."""
    return itertools.cycle(random.sample(range(FIRST, LAST + 1), LAST - FIRST + 1))
