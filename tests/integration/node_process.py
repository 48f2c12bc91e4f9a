"""A node in a process of its own: `python -m tests.integration.node_process FOLDER [enter|plain]`.

It reads scripts from its standard input, one a line, runs each as a pod, and tells a line about it when the pod has
ended; a script that does not end is told of when it runs.
"""

import asyncio
import contextlib
import itertools
import json
import pathlib
import sys
from typing import Any

from manta_embedded.api.plane import LivePlane
from manta_embedded.node.ability import NOTHING
from manta_embedded.node.outside import enter
from tests.integration.node_world import NodeWorld, live_store, shell

names = itertools.count(1)


async def main(folder: pathlib.Path, settings: dict[str, Any]) -> None:
    """Serve until the input ends."""
    store = live_store()
    plane = LivePlane(store, "")
    plane.start()
    world = NodeWorld(store, folder, **settings)
    await world.start()
    tell(ready=True)
    try:
        async for line in lines():
            tell(**await outcome(world, line))
    finally:
        await world.stop()
        plane.stop()


async def outcome(world: NodeWorld, script: str) -> dict[str, Any]:
    """What became of a pod."""
    name = f"pod-{next(names)}"
    ending = "exec sleep" not in script
    world.pod(name, shell(script), restartPolicy="Never")
    await (world.until(name, lambda: is_over(world, name)) if ending else world.ready(name))
    entries = json.loads((world.folder / "processes.json").read_text())
    said = "" if "waiting" in world.state(name)["state"] else await world.log(name)
    return {
        "phase": world.status(name)["phase"],
        "log": said,
        "state": world.state(name)["state"],
        "pids": [entry["pid"] for entry in entries.values()],
    }


def is_over(world: NodeWorld, name: str) -> bool:
    """Whether a pod has ended, or cannot begin."""
    waiting = world.state(name)["state"].get("waiting", {})
    return world.status(name)["phase"] in ("Succeeded", "Failed") or "message" in waiting


async def lines() -> Any:
    """The lines of standard input."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).decode():
        yield line.strip()


def tell(**words: Any) -> None:
    """One line to whoever started this."""
    print(json.dumps(words), flush=True)  # noqa: T201


if __name__ == "__main__":
    mode = sys.argv[2] if len(sys.argv) > 2 else ""
    chosen: dict[str, Any] = {}
    if mode == "enter":
        enter()
    if mode == "plain":
        chosen = {"bridge": "", "spaces": NOTHING}
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(pathlib.Path(sys.argv[1]), chosen))
