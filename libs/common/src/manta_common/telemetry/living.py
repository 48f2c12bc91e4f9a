"""What lives in this process, for whoever looks for a leak: tasks by what they run, objects by their type."""

import asyncio
import collections
import gc
from collections.abc import Iterable

FEWEST = 10  # objects of a type that is shown


def living() -> dict[str, object]:
    """What `/debug/living` says. It takes a moment, in which nothing else is done: for a person, not for a probe."""
    gc.collect()  # what nobody can reach any more is not alive
    types = collections.Counter(_name(type(one)) for one in gc.get_objects())
    shown = [(name, count) for name, count in types.most_common() if count >= FEWEST]
    return {"tasks": _by_work(asyncio.all_tasks()), "objects": types.total(), "types": dict(shown)}


def _by_work(tasks: "Iterable[asyncio.Task[object]]") -> dict[str, int]:
    return dict(collections.Counter(getattr(task.get_coro(), "__qualname__", "?") for task in tasks).most_common())


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
