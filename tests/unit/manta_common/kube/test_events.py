"""Events let the work go before them, for a while."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec
import pytest

from manta_common.keys import Key
from manta_common.kinds import EVENT, NAMESPACE, RAYSERVICE
from manta_common.kube.events import CROWD, LATE, LOOK, Recorder, reference
from manta_common.kube.protocol import Scope
from manta_common.kube.series import Notice
from manta_common.kube.settings import KubeSettings
from manta_embedded.store.kube import EmbeddedKube
from manta_embedded.store.store import Store
from tests.unit.manta_cli.place import LoopClock
from tests.unit.manta_common.virtual import run

SOON, PATIENCE = 2 * LOOK.total_seconds(), LATE.total_seconds() + 1


class Office:
    """A recorder that runs, and whether there is something more important to do."""

    def __init__(self) -> None:
        store = Store(LoopClock(), random.Random(0))
        store.create(NAMESPACE, "", {"metadata": {"name": "team"}})
        self._kube, self.busy = EmbeddedKube(store, KubeSettings(service="test")), True
        self.recorder = Recorder(self._kube, "host-1")
        self.recorder.give_way(lambda: self.busy)

    def tell(self, name: str = "one", severity: Literal["Normal", "Warning"] = "Normal") -> None:
        """Something was done about a RayService."""
        notice = Notice(controller="c", type=severity, reason="Done", action="Do", note="It is done.")
        self.recorder.record(reference(RAYSERVICE, Key("team", name), f"{name}-uid"), notice)

    async def written(self, after_seconds: float) -> int:
        """How many events there are so much later."""
        await asyncio.sleep(after_seconds)
        return len((await self._kube.list(EVENT, msgspec.Raw, Scope(namespace="team"))).items)


def at_work(scenario: Callable[[Office], Awaitable[None]]) -> None:
    """Play a scenario in virtual time."""

    async def main() -> None:
        office = Office()
        writing = asyncio.create_task(office.recorder.run())
        await scenario(office)
        writing.cancel()
        await asyncio.wait([writing])

    run(main())


def test_an_event_waits_for_the_work_but_not_for_long() -> None:
    async def scenario(office: Office) -> None:
        office.tell()
        assert await office.written(SOON) == 0
        assert await office.written(PATIENCE) == 1

    at_work(scenario)


def test_an_event_is_written_when_the_work_is_done() -> None:
    async def scenario(office: Office) -> None:
        office.tell()
        assert await office.written(SOON) == 0
        office.busy = False
        assert await office.written(SOON) == 1

    at_work(scenario)


@pytest.mark.parametrize(("severity", "count"), [("Warning", 1), ("Normal", 0)])
def test_what_went_wrong_is_told_at_once(severity: Literal["Normal", "Warning"], count: int) -> None:
    async def scenario(office: Office) -> None:
        office.tell(severity=severity)
        assert await office.written(SOON) == count

    at_work(scenario)


def test_a_crowd_of_events_is_written_whatever_there_is_to_do() -> None:
    async def scenario(office: Office) -> None:
        for number in range(CROWD + 1):
            office.tell(f"service-{number}")
        assert await office.written(SOON) > CROWD

    at_work(scenario)


def test_nothing_is_left_at_the_end() -> None:
    async def scenario(office: Office) -> None:
        office.tell()
        await office.recorder.drain(limit_seconds=1)
        assert await office.written(0) == 1

    at_work(scenario)
