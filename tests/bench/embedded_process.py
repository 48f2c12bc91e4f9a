"""The embedded API in a process of its own: `python -m tests.bench.embedded_process FOLDER` says where it is."""

import asyncio
import json
import pathlib
import sys
import time

import uvloop

from manta_embedded.api.serve import serve
from manta_embedded.api.settings import ApiSettings


async def _main(folder: pathlib.Path) -> None:
    began = time.perf_counter()
    async with serve(ApiSettings(folder=folder)) as api:
        took = time.perf_counter() - began
        place = {"port": api.port, "token": api.admin_token, "ca": str(api.ca), "seconds": took}
        sys.stdout.write(json.dumps(place) + "\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_main(pathlib.Path(sys.argv[1])))
