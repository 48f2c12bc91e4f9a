"""What lives in a process can be counted."""

import asyncio

from manta_common.telemetry.living import FEWEST, living


class Leaked:
    """Something that is kept."""


async def test_tasks_are_counted_by_what_they_run() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    waiting = [asyncio.create_task(wait()) for _ in range(3)]
    await asyncio.sleep(0)
    tasks = living()["tasks"]
    assert isinstance(tasks, dict)
    assert tasks[wait.__qualname__] == 3
    for task in waiting:
        task.cancel()


async def test_objects_are_counted_by_their_type_once_there_are_some() -> None:
    name = f"{__name__}.Leaked"
    kept = [Leaked() for _ in range(FEWEST)]
    types = living()["types"]
    assert isinstance(types, dict)
    assert types[name] == len(kept)
    kept.pop()
    types = living()["types"]
    assert isinstance(types, dict)
    assert name not in types
