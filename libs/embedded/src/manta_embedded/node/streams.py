"""Commands that somebody runs in a container, with their input and output."""

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import termios
from collections.abc import Awaitable, Callable

from manta_embedded.api.machine import Command, Terminal
from manta_embedded.node.containers import ContainerRunner
from manta_embedded.node.sandbox import Sandbox, SandboxFailed
from manta_embedded.node.status import exit_code
from manta_embedded.store import errors

CHUNK = 65536
DRAIN_SECONDS = 2.0  # for what is in the pipes when a command ends and leaves a child behind that holds them
KILL = 9
Put = Callable[[bytes], Awaitable[None]]


async def run(runner: ContainerRunner, command: Command, terminal: Terminal) -> int:
    """Run it; its exit code. When nobody wants it any more, it is killed."""
    return await (_in_terminal if command.tty else _in_pipes)(runner, command, terminal)


async def _in_pipes(runner: ContainerRunner, command: Command, terminal: Terminal) -> int:
    stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
    inner, outer = (stdin[0], stdout[1], stderr[1]), (stdin[1], stdout[0], stderr[0])
    try:
        sandbox, pid = await _started(runner, command, inner)
    except BaseException:
        _close(*outer)
        raise
    finally:
        _close(*inner)
    return await _served(sandbox, pid, terminal, (outer[0], [(outer[1], terminal.stdout), (outer[2], terminal.stderr)]))


async def _in_terminal(runner: ContainerRunner, command: Command, terminal: Terminal) -> int:
    outer, inner = pty.openpty()
    try:
        sandbox, pid = await _started(runner, command, (inner, inner, inner))
    except BaseException:
        _close(outer)
        raise
    finally:
        _close(inner)
    sizes = asyncio.create_task(_sizes(terminal, outer))
    try:
        return await _served(sandbox, pid, terminal, (os.dup(outer), [(outer, terminal.stdout)]))
    finally:
        sizes.cancel()


async def _started(runner: ContainerRunner, command: Command, files: tuple[int, int, int]) -> tuple[Sandbox, int]:
    try:
        return await runner.beside(command.argv, files, tty=command.tty)
    except SandboxFailed as error:
        raise errors.StatusError(500, "InternalError", f"Internal error occurred: {error}") from error


async def _served(sandbox: Sandbox, pid: int, terminal: Terminal, files: tuple[int, list[tuple[int, Put]]]) -> int:
    entrance, exits = files
    feeding = asyncio.create_task(_feed(terminal, entrance))
    reading = [asyncio.create_task(_drain(file, put)) for file, put in exits]
    try:
        code = await sandbox.wait(pid)
        await asyncio.wait(reading, timeout=DRAIN_SECONDS)
        return exit_code(code)
    except asyncio.CancelledError:
        await sandbox.signal(pid, KILL)
        raise
    finally:
        for task in (feeding, *reading):
            task.cancel()
        await asyncio.gather(feeding, *reading, return_exceptions=True)


async def _feed(terminal: Terminal, file: int) -> None:
    """What the other end types, until it has no more."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, open(file, "wb", buffering=0))  # noqa: ASYNC230, SIM115
    try:
        while chunk := await terminal.read():
            transport.write(chunk)
    finally:
        transport.close()


async def _drain(file: int, put: Put) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    opened = open(file, "rb", buffering=0)  # noqa: ASYNC230, SIM115
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), opened)
    try:
        with contextlib.suppress(OSError):  # a terminal whose last process ended
            while chunk := await reader.read(CHUNK):
                await put(chunk)
    finally:
        transport.close()


async def _sizes(terminal: Terminal, file: int) -> None:
    while True:
        width, height = await terminal.size()
        fcntl.ioctl(file, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))


def _close(*files: int) -> None:
    for file in files:
        os.close(file)
