"""Runs a service as a process: command line, settings, logs, telemetry, event loop, signals and exit code."""

import asyncio
import faulthandler
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from importlib.metadata import version
from types import FrameType, TracebackType
from typing import Any, TypeVar

import uvloop

from manta_common.command import options
from manta_common.config import Config, changed, load, shown
from manta_common.errors import Misconfigured
from manta_common.garbage import seldom_collected
from manta_common.parts import Parts
from manta_common.telemetry.export import tracing_of
from manta_common.telemetry.health import Health
from manta_common.telemetry.http import Listener, Pages
from manta_common.telemetry.living import living
from manta_common.telemetry.logs import configure_logging
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.tracing import Tracing
from manta_common.telemetry.usage import sample_loop_delay, watch_usage

CLEAN, CRASHED, MISCONFIGURED = 0, 1, 78  # 78: sysexits.h, EX_CONFIG; a wrong command line is argparse's 2
CANCEL_SECONDS = 5.0  # beyond the drain limit; then the process ends whatever it is doing
FLUSH_SECONDS = 2.0

C = TypeVar("C", bound=Config)
Main = Callable[[C, Parts], Coroutine[Any, Any, None]]
log = logging.getLogger(__name__)


def run(config: type[C], main: Main[C], *, about: str, arguments: Sequence[str] | None = None) -> int:
    """Run the service of a command line; return the exit code. `main` ends soon after `parts.stopping` is set."""
    given = options(config, about, arguments)
    return reported(config.SERVICE, lambda: serve(load(config, os.environ, given.config), main, config.SERVICE))


def reported(service: str, start: Callable[[], int]) -> int:
    """Run something and return its exit code; wrong settings are told a line each, other errors go their way."""
    code = MISCONFIGURED
    try:
        code = start()
    except* Misconfigured as found:
        for line in _lines(found):
            sys.stderr.write(f"manta-{service}: {line}\n")
    return code


def serve(config: C, main: Main[C], service: str, *, opened: socket.socket | None = None) -> int:
    """Run a main function as this process, with settings that were read already; return the exit code.

    A socket that was `opened` before is served instead of the address that the settings name.
    """
    configure_logging(config, service)
    sys.excepthook = _log_crash
    tracing = tracing_of(os.environ, service, _release(service))
    try:
        with seldom_collected(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_serve(config, main, service=service, tracing=tracing, opened=opened))
    finally:
        if not tracing.close(FLUSH_SECONDS):
            log.warning("not all traces could be sent")
        faulthandler.cancel_dump_traceback_later()


async def _serve(config: C, main: Main[C], *, service: str, tracing: Tracing, opened: socket.socket | None) -> int:
    registries, health, pages = list[Registry](), Health(), Pages()
    parts = Parts(service, tracing, registries=registries, health=health, pages=pages)
    pages.page("settings", lambda: shown(config))
    pages.page("living", living)
    watch_usage(parts.metrics, _release(service))
    listener = Listener(opened or config.http_address, health, registries=registries, pages=pages)
    async with listener, asyncio.TaskGroup() as group:
        with _signals(parts.stopping, config.drain_limit):
            extra = {"version": _release(service), "port": listener.port, "settings": changed(config)}
            log.info("service starts", extra=extra)
            sampling = group.create_task(sample_loop_delay(parts.metrics))
            code = await _until_done(group, main(config, parts), stopping=parts.stopping, limit=config.drain_limit)
            sampling.cancel()
    log.info("service ends", extra={"code": code})
    return code


async def _until_done(
    group: asyncio.TaskGroup, main: Coroutine[Any, Any, None], *, stopping: asyncio.Event, limit: timedelta
) -> int:
    """Until main has ended, or has been cancelled because it was told to stop and did not in time."""
    working, told = group.create_task(main), group.create_task(stopping.wait())
    await asyncio.wait({working, told}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if not working.done():
        log.info("service stops", extra={"limit_seconds": limit.total_seconds()})
        await asyncio.wait({working}, timeout=limit.total_seconds())
    if working.done():
        return CLEAN
    log.error("service did not stop in time", extra={"limit_seconds": limit.total_seconds()})
    working.cancel()
    return CRASHED


@contextmanager
def _signals(stopping: asyncio.Event, limit: timedelta) -> Iterator[None]:
    """The first signal asks to stop; the second, or a process that hangs beyond all limits, ends it at once."""
    loop, asked = asyncio.get_running_loop(), False

    # Not the loop's own signal handling: that would need a loop that is not blocked.
    def stop(number: int, _: FrameType | None) -> None:
        nonlocal asked
        if asked:
            os._exit(128 + number)
        asked = True
        faulthandler.dump_traceback_later(limit.total_seconds() + CANCEL_SECONDS, exit=True)
        loop.call_soon_threadsafe(stopping.set)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)


def _log_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    log.critical("service crashed", exc_info=(kind, error, trace))


def _release(service: str) -> str:
    return version(f"manta-{service}")


def _lines(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _lines(inner)
    else:
        yield from str(error).splitlines()
