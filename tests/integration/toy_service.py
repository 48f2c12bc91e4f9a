"""A service that does nothing but behave as its test wants; run by test_service_runner."""

import asyncio
import sys
import time
from pathlib import Path
from typing import ClassVar, Literal

from manta_common.config import Config as Shared
from manta_common.errors import Misconfigured
from manta_common.parts import Parts
from manta_common.run import run
from manta_common.telemetry import names

POLL_SECONDS = 0.02
Behaviour = Literal["good", "deaf", "stubborn", "blocked", "broken", "misconfigured"]


class Config(Shared, frozen=True, kw_only=True):
    """Which part to play; `good` is ready, and drained, when the file of that name is in the folder."""

    SERVICE: ClassVar[str] = "watcher"  # --version asks for an installed package

    behaviour: Behaviour = "good"
    folder: str = "."


async def main(config: Config, parts: Parts) -> None:
    """Play the part."""
    folder = Path(config.folder)
    parts.show("loop", lambda: type(asyncio.get_running_loop()).__module__)
    parts.need("file", lambda: "" if (folder / "ready").exists() else "not there yet")
    with parts.tracing.span(names.WATCH_SPAN), parts.tracing.span(names.PUBLISH_SPAN):
        message = parts.tracing.headers()
    with parts.tracing.span(names.PASS_SPAN, caused_by=[message]):
        await play(config, parts)


async def play(config: Config, parts: Parts) -> None:
    """Do as the settings say until told to stop, or beyond."""
    parts.ready()
    match config.behaviour:
        case "good":
            await parts.stopping.wait()
            await until_exists(Path(config.folder) / "drained")
        case "deaf":
            await asyncio.Event().wait()
        case "stubborn":
            await ignore_everything()
        case "blocked":
            time.sleep(600)  # noqa: ASYNC251  what a service must never do
        case "broken":
            raise ZeroDivisionError("a bug with Bearer hunter2")
        case "misconfigured":
            raise Misconfigured("one thing\nanother thing")


async def until_exists(path: Path) -> None:
    """Wait for a file."""
    while not path.exists():  # noqa: ASYNC110, ASYNC240  files cannot be awaited
        await asyncio.sleep(POLL_SECONDS)


async def ignore_everything() -> None:
    """Wait, and wait on when cancelled."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


if __name__ == "__main__":
    sys.exit(run(Config, main, about="A toy."))
