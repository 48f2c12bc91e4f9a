"""Events leave the API server room for what they tell of."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from manta_common.keys import Key
from manta_common.kinds import RAYCLUSTER
from manta_common.kube.events import CROWD, REST, Recorder, reference
from manta_common.kube.protocol import Kube
from manta_common.kube.series import Notice
from tests.unit.manta_common.virtual import run

TAKES_SECONDS = 0.01
CREATED = Notice(controller="c", type="Normal", reason="CreatedPod", action="Create", note="a pod was created")


class Server:
    """Takes its time for each event."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.eleventh = asyncio.Event()

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=asyncio.get_running_loop().time())

    async def create(self, *_: Any) -> None:
        self.begun.append(asyncio.get_running_loop().time())
        if len(self.begun) == 11:
            self.eleventh.set()
        await asyncio.sleep(TAKES_SECONDS)


async def recorded(count: int, write: Callable[[Recorder], Any]) -> float:
    """How long the first ten of so many events take."""
    server = Server()
    recorder = Recorder(cast("Kube", server), "test")
    for number in range(count):
        recorder.record(reference(RAYCLUSTER, Key("here", f"c{number}"), f"uid-{number}"), CREATED)
    writing = asyncio.create_task(write(recorder))
    await server.eleventh.wait()
    writing.cancel()
    return server.begun[10] - server.begun[0]


@pytest.mark.parametrize(
    ("count", "write", "share"),
    [
        pytest.param(20, Recorder.run, 1 + REST, id="between two there is room"),
        pytest.param(CROWD, Recorder.run, 1, id="unless many wait, of which some would be forgotten"),
        pytest.param(20, lambda recorder: recorder.drain(limit_seconds=10), 1, id="or the service is about to end"),
    ],
)
def test_room_is_left_for_others(count: int, write: Callable[[Recorder], Any], share: int) -> None:
    assert run(recorded(count, write)) == pytest.approx(10 * share * TAKES_SECONDS, rel=0.2)
