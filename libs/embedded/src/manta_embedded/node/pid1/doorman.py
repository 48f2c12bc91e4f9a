"""Stays outside when Manta goes into namespaces of its own: opens sockets there and hands them in.

A socket belongs to the network in which it was opened, whoever uses it. Standard library only.
"""

import os
import signal
import socket
from collections.abc import Callable

from manta_embedded.node.pid1.wire import Message, Wire

DIAL_SECONDS = 10.0
BACKLOG = 128


def main(descriptor: int) -> None:
    """Serve until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for Manta; this ends with it
    wire = Wire(socket.socket(fileno=descriptor))
    operations: dict[str, Callable[[Message], socket.socket]] = {"listen": _listen, "dial": _dial}
    while (received := wire.receive()) is not None:
        for message, _ in received:
            _answer(wire, message, operations[message["op"]])


def _answer(wire: Wire, message: Message, operation: Callable[[Message], socket.socket]) -> None:
    try:
        opened = operation(message)
    except OSError as error:
        wire.send({"re": message["id"], "error": str(error), "errno": error.errno or 0})
        return
    wire.send({"re": message["id"]}, (opened.fileno(),))
    opened.close()


def _listen(message: Message) -> socket.socket:
    return socket.create_server((message["host"], message["port"]), backlog=BACKLOG)


def _dial(message: Message) -> socket.socket:
    """Names are resolved here, where there is a name server; one slow answer holds up those after it."""
    opened = socket.create_connection((message["host"], message["port"]), timeout=DIAL_SECONDS)
    opened.settimeout(None)
    os.set_inheritable(opened.fileno(), False)
    return opened
