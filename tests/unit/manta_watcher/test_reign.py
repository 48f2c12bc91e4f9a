"""A reign ends when it is told to, whatever goes wrong in the same moment."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from manta_common.bus.protocol import Batch, Message
from manta_common.errors import Unreachable
from manta_common.kube.settings import KubeSettings
from manta_common.plane import Means
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats
from manta_embedded.sim.clock import LoopClock
from manta_embedded.store.kube import EmbeddedKube
from manta_embedded.store.store import Store
from manta_watcher.reign import Watcher
from manta_watcher.session import Task
from tests.unit.manta_common.virtual import run

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class BreakingBus(SimulatedBus):
    """A bus whose first reading breaks when it is given up."""

    readings = 0

    @asynccontextmanager
    async def replay(self, subjects: Sequence[str]) -> AsyncIterator[AsyncIterator[Batch]]:
        self.readings += 1
        first = self.readings == 1
        async with super().replay(subjects) as batches:
            try:
                yield batches
            finally:
                if first:
                    raise Unreachable("the connection was lost")


def test_a_reign_ends_though_its_session_breaks_in_that_moment() -> None:
    """Else it would go on beside the next one, and both would take each other for somebody else who writes."""

    async def play() -> None:
        bus = BreakingBus(SimulatedNats(LoopClock()))
        means = Means(bus=bus, now=lambda: NOW, clock=LoopClock(), chance=random.Random(0))
        kube = EmbeddedKube(Store(LoopClock(), random.Random(0)), KubeSettings())
        watcher = Watcher(means, kube, Task(watched=()))
        running = asyncio.create_task(watcher.run())
        await asyncio.sleep(5)
        assert watcher.active
        assert watcher.tally.whole
        watcher.stop()
        done, _ = await asyncio.wait([running], timeout=5)
        assert done, "it still reigns"
        assert bus.readings == 1

    run(play())


def test_a_reign_goes_on_after_a_session_broke() -> None:
    async def play() -> None:
        nats = SimulatedNats(LoopClock())
        means = Means(bus=SimulatedBus(nats), now=lambda: NOW, clock=LoopClock(), chance=random.Random(0))
        kube = EmbeddedKube(Store(LoopClock(), random.Random(0)), KubeSettings())
        watcher = Watcher(means, kube, Task())
        running = asyncio.create_task(watcher.run())
        for sessions in range(1, 4):
            await asyncio.sleep(5)
            assert watcher.tally.whole
            assert watcher.tally.sessions == sessions
            subject = "manta.v1.state.1.plain.pod.default.x"
            nats.stream.write(Message(subject=subject, body=b"%d" % sessions, sequence=0), None, None)
        watcher.stop()
        done, _ = await asyncio.wait([running], timeout=5)
        assert done

    run(play())
