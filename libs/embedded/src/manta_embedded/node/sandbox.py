"""A pod's first process, seen from the node: started, told what to do, and ended."""

import asyncio
import itertools
import json
import os
import pathlib
import socket
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from manta_common.errors import MantaError
from manta_embedded.node.pid1.wire import Message, Wire, packed

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); "
    "from manta_embedded.node.pid1.main import main; main(int(sys.argv[2]), json.loads(sys.argv[3]))"
)
ANSWER_SECONDS = 30.0
END_SECONDS = 20.0


class SandboxFailed(MantaError):
    """The pod's first process cannot do what it was asked; the message says why."""

    def __init__(self, message: str, number: int = 0) -> None:
        super().__init__(message)
        self.number = number


class Spaces(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod has for itself on this machine."""

    isolated: bool = True  # network, mounts, names
    pids: bool = True


class Sandbox:
    """One pod's namespaces and processes."""

    def __init__(self, wire: Wire, pid: int, spaces: Spaces) -> None:
        self.pid, self.spaces = pid, spaces
        self._wire = wire
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[tuple[Message, list[int]]]] = {}
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._gone = asyncio.Event()
        wire.end.setblocking(False)
        asyncio.get_running_loop().add_reader(wire.end.fileno(), self._receive)

    @classmethod
    async def open(cls, hostname: str, spaces: Spaces, log: pathlib.Path) -> "Sandbox":
        """Start the first process; SandboxFailed with its own words when it does not come up."""
        ours, theirs = socket.socketpair()
        settings = json.dumps({"isolated": spaces.isolated, "pids": spaces.pids, "hostname": hostname})
        command = (sys.executable, "-I", "-S", "-c", PROGRAM, str(ROOT), str(theirs.fileno()), settings)
        with log.open("ab") as said:
            process = await asyncio.create_subprocess_exec(
                *command, pass_fds=[theirs.fileno()], stdin=asyncio.subprocess.DEVNULL, stdout=said, stderr=said
            )
        theirs.close()
        wire = Wire(ours)
        ours.setblocking(False)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                born = await _first_message(ours, wire)
        except (TimeoutError, EOFError, OSError):
            ours.close()
            await process.wait()
            raise SandboxFailed(f"a pod cannot be set up: {_last_line(log)}") from None
        if spaces.isolated:
            await process.wait()  # it has handed over to the first process of the pod
        return cls(wire, born["pid"], spaces)

    @property
    def gone(self) -> bool:
        """Whether the first process has ended, and with it everything."""
        return self._gone.is_set()

    async def network(self, address: str, prefix: int, *, gateway: str, beyond: str) -> None:
        """Give the pod its address; the network `beyond` is reached by a gateway."""
        told = {"address": address, "prefix": prefix, "gateway": gateway, "beyond": beyond}
        await self._ask({"op": "network", **told})

    async def memory(self, path: str, size_bytes: int) -> None:
        """Have memory at a folder, seen by the pod's containers only; a size of 0 is the kernel's usual limit."""
        options = f"mode=1777,size={size_bytes}" if size_bytes else "mode=1777"
        await self._ask({"op": "memory", "path": path, "options": options})

    async def start(self, plan: Message) -> int:
        """Start a container; the number of its process in the pod."""
        answer, _ = await self._ask_with({"op": "start"}, plan, ())
        return self._expect(int(answer["pid"]))

    async def beside(self, container_pid: int, plan: Message, files: tuple[int, int, int]) -> int:
        """Start a further process in a container, with these files as its input, output and error."""
        answer, _ = await self._ask_with({"op": "beside", "pid": container_pid}, plan, files)
        return self._expect(int(answer["pid"]))

    async def wait(self, pid: int) -> int:
        """The exit code of a process; negative for the signal that killed it."""
        return await asyncio.shield(self._exits[pid])

    async def signal(self, pid: int, number: int) -> None:
        """Send a signal to a process that was started here."""
        if not self.gone:
            await self._ask({"op": "signal", "pid": pid, "signal": number})

    async def dial(self, port: int) -> socket.socket:
        """A connection to a port in the pod; OSError when nobody listens."""
        try:
            _, files = await self._ask({"op": "dial", "port": port})
        except SandboxFailed as error:
            raise ConnectionRefusedError(error.number, f"port {port} of the pod: {error}") from error
        return socket.socket(fileno=files[0])

    async def close(self) -> None:
        """End everything in the pod; returns when it has ended."""
        if not self.gone:
            self._wire.end.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(END_SECONDS):
                await self._gone.wait()

    def _expect(self, pid: int) -> int:
        self._exits.setdefault(pid, asyncio.get_running_loop().create_future())
        return pid

    async def _ask_with(self, message: Message, plan: Message, files: tuple[int, ...]) -> tuple[Message, list[int]]:
        file = packed(plan)
        try:
            return await self._ask(message, (file, *files))
        finally:
            os.close(file)

    async def _ask(self, message: Message, files: tuple[int, ...] = ()) -> tuple[Message, list[int]]:
        if self.gone:
            raise SandboxFailed("the pod's first process is gone")
        number = next(self._numbers)
        answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._wire.send({**message, "id": number}, files)
            async with asyncio.timeout(ANSWER_SECONDS):
                answer, given = await answered
        except (TimeoutError, OSError) as error:
            raise SandboxFailed(f"the pod's first process does not answer: {error}") from error
        finally:
            del self._waiting[number]
        if "error" in answer:
            raise SandboxFailed(answer["error"], answer["errno"])
        return answer, given

    def _receive(self) -> None:
        try:
            received = self._wire.receive()
        except BlockingIOError:
            return
        except ConnectionError:
            received = None
        for message, files in received or ():
            self._take(message, files)
        if received is None:
            self._end()

    def _take(self, message: Message, files: list[int]) -> None:
        if "re" in message:
            waiting = self._waiting.get(message["re"])
            if waiting is not None and not waiting.done():
                waiting.set_result((message, files))
        elif message["event"] == "exit":
            self._expect(message["pid"])
            _resolve(self._exits[message["pid"]], message["code"])

    def _end(self) -> None:
        """The first process is gone, and all others with it."""
        asyncio.get_running_loop().remove_reader(self._wire.end.fileno())
        self._wire.end.close()
        self._gone.set()
        for ended in self._exits.values():
            _resolve(ended, -9)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(({"error": "the pod's first process is gone", "errno": 0}, []))


def _resolve(future: asyncio.Future[int], value: int) -> None:
    if not future.done():
        future.set_result(value)


async def _first_message(end: socket.socket, wire: Wire) -> Message:
    """It is the only one until we ask for something."""
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[Any] = loop.create_future()
    settle: Callable[[], None] = lambda: None if readable.done() else readable.set_result(None)  # noqa: E731
    loop.add_reader(end.fileno(), settle)
    try:
        await readable
    finally:
        loop.remove_reader(end.fileno())
    received = wire.receive()
    if not received:
        raise EOFError
    return received[0][0]


def _last_line(log: pathlib.Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it gave no reason"
