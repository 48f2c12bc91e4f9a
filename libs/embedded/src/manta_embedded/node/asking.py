"""Asks a container how it is: by a command in it, over HTTP, or by a connection. Never raises for a bad answer."""

import asyncio
import contextlib
import os
import ssl
from collections.abc import Awaitable, Callable

import msgspec

from manta_embedded.node.probes import Probe

MOST_OUTPUT = 10 * 1024
MOST_HEAD = 64 * 1024
Run = Callable[[tuple[str, ...], float], Awaitable[tuple[int, bytes]]]  # command, limit -> exit code, output


class Answer(msgspec.Struct, frozen=True):
    """Whether it is well, and what it said if not."""

    success: bool
    message: str = ""


async def ask(probe: Probe, address: str, run: Run) -> Answer:
    """One answer, within the probe's limit."""
    try:
        if probe.command:
            return await _by_command(probe, run)
        async with asyncio.timeout(probe.limit_seconds):
            return await (_by_http(probe, address) if probe.scheme else _by_connection(probe, address))
    except TimeoutError:
        what = f'"{probe.scheme}://{probe.host or address}:{probe.port}{probe.path}"' if probe.scheme else "it"
        return Answer(False, f"Get {what}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
    except (OSError, ValueError, asyncio.IncompleteReadError) as error:
        return Answer(False, f"dial tcp {probe.host or address}:{probe.port}: {_words(error)}")


async def _by_command(probe: Probe, run: Run) -> Answer:
    try:
        code, output = await run(probe.command, probe.limit_seconds)
    except TimeoutError:
        shown = " ".join(probe.command)
        return Answer(False, f'command timed out: "{shown}" timed out after {probe.limit_seconds:g}s')
    return Answer(code == 0, output[:MOST_OUTPUT].decode(errors="replace"))


async def _by_connection(probe: Probe, address: str) -> Answer:
    _, writer = await asyncio.open_connection(probe.host or address, probe.port)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return Answer(True)


async def _by_http(probe: Probe, address: str) -> Answer:
    secure = _unverified() if probe.scheme == "https" else None
    host = probe.host or address
    reader, writer = await asyncio.open_connection(host, probe.port, ssl=secure, limit=MOST_HEAD)
    try:
        writer.write(_request(probe, host))
        await writer.drain()
        status = int((await reader.readuntil(b"\n")).split()[1])
    except IndexError:
        return Answer(False, "malformed HTTP response")
    finally:
        writer.close()
    if 200 <= status < 400:
        return Answer(True)
    return Answer(False, f"HTTP probe failed with statuscode: {status}")


def _request(probe: Probe, host: str) -> bytes:
    named = {name.lower() for name, _ in probe.headers}
    usual = {"Host": f"{host}:{probe.port}", "User-Agent": "kube-probe/1.36", "Accept": "*/*"}
    headers = [*((name, value) for name, value in usual.items() if name.lower() not in named), *probe.headers]
    lines = [f"GET {probe.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "Connection: close"]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


def _unverified() -> ssl.SSLContext:
    """A kubelet does not verify certificates either."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return f"connect: {os.strerror(error.errno).lower()}"
    return str(error)
