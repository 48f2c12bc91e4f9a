"""The first process of a pod: holds its namespaces, starts and reaps its processes, writes their logs.

It does what the node says over a socket. When that closes, for the node is gone, everything in the pod ends.
Standard library only.
"""

import os
import pathlib
import select
import selectors
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

from manta_embedded.node.pid1 import kernel, launch, processes
from manta_embedded.node.pid1.lines import Log, Splitter
from manta_embedded.node.pid1.netlink import Links
from manta_embedded.node.pid1.wire import Message, Wire, unpacked

CHUNK = 65536
LINGER_SECONDS = 5.0  # for what a stopped container leaves behind
POLL_SECONDS = 0.05
DIAL_SECONDS = 2.0


def main(descriptor: int, settings: Message) -> None:
    """Run until the node says so or is gone."""
    wire = Wire(socket.socket(fileno=descriptor))
    if settings["isolated"]:
        _isolate(wire, settings)
    else:
        wire.send({"event": "born", "pid": os.getpid()})
    kernel.adopt_orphans()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    First(wire).run()


def _isolate(wire: Wire, settings: Message) -> None:
    """Go on as the first process in new namespaces; the one that was started tells its number and ends."""
    pids = kernel.CLONE_NEWPID if settings["pids"] else 0
    kernel.unshare(kernel.CLONE_NEWNET | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS | pids)
    child = os.fork()
    if child:
        wire.send({"event": "born", "pid": child})
        os._exit(0)
    os.setsid()
    kernel.make_private()
    if pids:
        kernel.mount("proc", "/proc", kind="proc", flags=kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    kernel.set_hostname(settings["hostname"])


class Container:
    """A process that was started, its log, and whether it has been told to end."""

    def __init__(self, plan: Message, pid: int, log: Log | None) -> None:
        self.plan, self.pid, self.log = plan, pid, log
        self.pipes: dict[int, tuple[str, Splitter]] = {}
        self.files = processes.mounts_of(pid) if plan["root"] else ""
        self.mark = f"{launch_mark(plan)}"
        self.stopping = False
        self.status: int | None = None
        self.linger_until = 0.0

    def rest(self) -> list[int]:
        """The processes of this container apart from the first."""
        own = {os.getpid(), self.pid}
        return [pid for pid in processes.all_pids() if pid not in own and self._has(pid)]

    def _has(self, pid: int) -> bool:
        if self.files:
            return processes.mounts_of(pid) == self.files
        try:
            return self.mark.encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False


class First:
    """Everything in a pod."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._selector = selectors.DefaultSelector()
        self._running: dict[int, Container] = {}
        self._beside: set[int] = set()
        self._ending: list[Container] = []
        self._operations: dict[str, Callable[[Message, list[int]], Message]] = {
            "network": self._network,
            "memory": self._memory,
            "start": self._start,
            "beside": self._run_beside,
            "signal": self._signal,
            "dial": self._dial,
        }

    def run(self) -> None:
        """Serve until the node is gone; afterwards nothing of the pod is left."""
        woken, waking = socket.socketpair()
        woken.setblocking(False)
        waking.setblocking(False)
        signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._wire.end, selectors.EVENT_READ, self._serve)
        self._selector.register(woken, selectors.EVENT_READ, lambda: _drained(woken))
        try:
            while self._turn():
                continue
        finally:
            processes.end_all()

    def _turn(self) -> bool:
        wait = POLL_SECONDS if self._ending else None
        for key, _ in self._selector.select(wait):
            if key.data() is False:
                return False
        self._reap()
        self._finish()
        return True

    def _serve(self) -> bool:
        """Do what has been asked; False when the node is gone."""
        try:
            received = self._wire.receive()
        except ConnectionError:
            return False
        for message, files in received or ():
            self._answer(message, files)
        return received is not None

    def _answer(self, message: Message, files: list[int]) -> None:
        kept: tuple[int, ...] = ()
        try:
            answer = self._operations[message["op"]](message, files)
            kept = answer.pop("give", ())
        except (OSError, launch.NotStarted) as error:
            words = getattr(error, "strerror", None) or str(error)
            answer = {"error": words, "errno": getattr(error, "errno", None) or 0}
        self._wire.send({"re": message["id"], **answer}, kept)
        for file in (*files, *kept):
            os.close(file)

    def _network(self, message: Message, files: list[int]) -> Message:
        links = Links()
        try:
            links.up("lo")
            links.add_address("eth0", message["address"], message["prefix"])
            links.up("eth0")
            if message["gateway"]:
                links.add_route(message["beyond"], message["gateway"])
        finally:
            links.close()
        return {}

    def _memory(self, message: Message, files: list[int]) -> Message:
        """Put memory on a folder, for all containers of the pod and for nobody outside."""
        flags = kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount("tmpfs", message["path"], kind="tmpfs", flags=flags, options=message["options"])
        return {}

    def _start(self, message: Message, files: list[int]) -> Message:
        plan = unpacked(files.pop(0))
        ends = {stream: os.pipe() for stream in ("stdout", "stderr")}
        try:
            pid = launch.container(plan, (ends["stdout"][1], ends["stderr"][1]))
        except launch.NotStarted:
            for reading, _ in ends.values():
                os.close(reading)
            raise
        finally:
            for _, writing in ends.values():
                os.close(writing)
        container = self._running[pid] = Container(plan, pid, Log(plan["log"]))
        for stream, (reading, _) in ends.items():
            os.set_blocking(reading, False)
            container.pipes[reading] = (stream, Splitter())
            self._selector.register(reading, selectors.EVENT_READ, _reader(self._log, container, reading))
        return {"pid": pid}

    def _run_beside(self, message: Message, files: list[int]) -> Message:
        plan = unpacked(files.pop(0))
        if message["pid"] not in self._running:
            raise launch.NotStarted("the container does not run")
        pid = launch.beside(plan, files, message["pid"])
        self._beside.add(pid)
        return {"pid": pid}

    def _signal(self, message: Message, files: list[int]) -> Message:
        """To the process group: a shell in front of Ray does not pass signals on."""
        container = self._running.get(message["pid"])
        if container is not None:
            container.stopping = True
        if container is not None or message["pid"] in self._beside:
            processes.kill(-message["pid"], message["signal"])
        return {}

    def _dial(self, message: Message, files: list[int]) -> Message:
        """A connection to a port of the pod, whichever of its addresses the port is on."""
        connection = socket.create_connection(("127.0.0.1", message["port"]), timeout=DIAL_SECONDS)
        connection.setblocking(True)
        return {"give": (connection.detach(),)}

    def _log(self, container: Container, pipe: int) -> None:
        """Write what a process has said; a pipe that nobody writes to any more is closed."""
        stream, splitter = container.pipes[pipe]
        try:
            chunk = os.read(pipe, CHUNK)
        except BlockingIOError:
            return
        lines = splitter.feed(chunk) if chunk else splitter.end()
        if lines and container.log:
            container.log.write(stream, lines)
        if not chunk:
            self._close(container, pipe)

    def _close(self, container: Container, pipe: int) -> None:
        self._selector.unregister(pipe)
        os.close(pipe)
        del container.pipes[pipe]

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._ended(pid, os.waitstatus_to_exitcode(status))

    def _ended(self, pid: int, code: int) -> None:
        if pid in self._beside:
            self._beside.discard(pid)
            self._wire.send({"event": "exit", "pid": pid, "code": code})
        container = self._running.get(pid)
        if container is not None:
            container.status = code
            container.linger_until = time.monotonic() + (LINGER_SECONDS if container.stopping else 0.0)
            self._ending.append(container)

    def _finish(self) -> None:
        """Tell of containers of which nothing is left; what outlives the first process is killed."""
        for container in list(self._ending):
            rest = container.rest()
            if rest and time.monotonic() < container.linger_until:
                continue
            for pid in rest:
                processes.kill(pid, signal.SIGKILL)
            if not rest:
                self._tell_end(container)

    def _tell_end(self, container: Container) -> None:
        for pipe in list(container.pipes):
            while pipe in container.pipes and select.select([pipe], [], [], 0)[0]:
                self._log(container, pipe)
            if pipe in container.pipes:
                self._close(container, pipe)
        if container.log:
            container.log.close()
        self._ending.remove(container)
        del self._running[container.pid]
        self._wire.send({"event": "exit", "pid": container.pid, "code": container.status})


def launch_mark(plan: Message) -> str:
    """The variable by which processes of a container are known where they share their files with all others."""
    return f"MANTA_CONTAINER={plan['env'].get('MANTA_CONTAINER', '')}"


def _reader(log: Callable[[Container, int], None], container: Container, pipe: int) -> Callable[[], Any]:
    return lambda: log(container, pipe)


def _drained(end: socket.socket) -> None:
    try:
        while end.recv(4096):
            continue
    except BlockingIOError:
        return
