"""`manta up` in namespaces of its own, with a way in and out: pods need no rights on the machine's own network.

Called before there is an event loop or a thread: a process with several threads may not change its user namespace.
"""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import threading

from manta_common.errors import MantaError
from manta_embedded.node.pid1 import kernel
from manta_embedded.node.pid1.netlink import Links
from manta_embedded.node.pid1.wire import Wire
from manta_embedded.node.sandbox import ROOT

PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from manta_embedded.node.pid1.doorman import main; main(int(sys.argv[2]))"
)
ANSWER_SECONDS = 15.0
HELP = (
    "run manta as root, or allow unprivileged user namespaces: sysctl -w user.max_user_namespaces=10000"
    " and, on Ubuntu, sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
)


class NoNamespaces(MantaError):
    """This machine does not let us have namespaces; the message says why and what to do."""


class Outside:
    """The machine's own network, for a process that has left it."""

    def __init__(self, end: socket.socket) -> None:
        end.settimeout(ANSWER_SECONDS)
        self._wire = Wire(end)
        self._number = 0
        self._one_at_a_time = threading.Lock()

    def listen(self, host: str, port: int) -> socket.socket:
        """A listening socket on the machine; OSError when the port is taken."""
        return self._ask("listen", host, port)

    def dial(self, host: str, port: int) -> socket.socket:
        """A connection from the machine to anywhere; names are resolved there."""
        return self._ask("dial", host, port)

    def _ask(self, operation: str, host: str, port: int) -> socket.socket:
        with self._one_at_a_time:
            self._number += 1
            self._wire.send({"op": operation, "id": self._number, "host": host, "port": port})
            while (received := self._wire.receive()) is not None:
                for message, files in received:
                    if message["re"] == self._number and files:
                        return socket.socket(fileno=files[0])
                    if message["re"] == self._number:
                        raise OSError(message["errno"], message["error"])
            raise OSError("the process that stayed outside is gone")


def enter() -> Outside:
    """Leave this machine's network for an empty one, in which this process may do everything; NoNamespaces if it may
    not. Sockets that are open already stay good outside."""
    if sys.platform != "linux":
        raise NoNamespaces(f"there are no namespaces on {sys.platform}: only one Ray cluster can run at a time")
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(ROOT), str(theirs.fileno())]
    doorman = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True)
    theirs.close()
    try:
        _leave(os.geteuid(), os.getegid())
    except OSError as error:
        ours.close()
        doorman.wait()
        raise NoNamespaces(f"{error}; {HELP}") from error
    return Outside(ours)


def _leave(user: int, group: int) -> None:
    """Root needs no user namespace; everybody else, root in a container too, is root in one of their own."""
    wanted = kernel.CLONE_NEWNET | kernel.CLONE_NEWNS
    try:
        kernel.unshare(wanted)
    except PermissionError:
        kernel.unshare(wanted | kernel.CLONE_NEWUSER)
        here = pathlib.Path("/proc/self")
        (here / "setgroups").write_text("deny")
        (here / "uid_map").write_text(f"0 {user} 1")
        (here / "gid_map").write_text(f"0 {group} 1")
    kernel.make_private()
    with contextlib.closing(Links()) as links:
        links.up("lo")
