"""What the operating system and the event loop say of this process."""

import asyncio
import logging
import os
import platform
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from manta_common.telemetry import names
from manta_common.telemetry.metrics import Registry, Values

SAMPLE_SECONDS = 0.1
BLOCKED_SECONDS = 1.0
log = logging.getLogger(__name__)


def watch_usage(registry: Registry, version: str) -> None:
    """Show version, CPU, memory and open files; where there is no /proc, CPU only."""
    registry.numbers(names.BUILD).at(version, platform.python_version()).set(1)
    registry.numbers(names.CPU_SECONDS).read(_cpu_seconds)
    registry.numbers(names.MOST_FILES).read(lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    registry.numbers(names.START_TIME).at().set(time.time())
    registry.numbers(names.MEMORY_BYTES).read_all(lambda: _if_known(Path("/proc/self/statm"), _resident_bytes))
    registry.numbers(names.OPEN_FILES).read_all(lambda: _if_known(Path("/proc/self/fd"), _open_files))


async def sample_loop_delay(registry: Registry, clock: Callable[[], float] = time.monotonic) -> None:
    """Measure, until cancelled, how late the event loop is; a block of a second is worth a warning."""
    delays = registry.distributions(names.LOOP_DELAY_SECONDS).at()
    while True:
        # Not the loop's own time: uvloop's has whole milliseconds only.
        due = clock() + SAMPLE_SECONDS
        await asyncio.sleep(SAMPLE_SECONDS)
        delay = max(0.0, clock() - due)
        delays.observe(delay)
        if delay >= BLOCKED_SECONDS:
            log.warning("event loop was blocked", extra={"seconds": round(delay, 3)})


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _if_known(source: Path, measure: Callable[[Path], float]) -> Iterable[tuple[Values, float]]:
    return [((), measure(source))] if source.exists() else []


def _resident_bytes(statm: Path) -> float:
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _open_files(folder: Path) -> float:
    return sum(1 for _ in folder.iterdir())
