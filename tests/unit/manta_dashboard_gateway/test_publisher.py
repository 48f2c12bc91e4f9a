"""What is said, over what stands there, and only when it is news."""

import collections
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from manta_common.bus.channel import State
from manta_common.dashboard.reports import JOB_INFO, JobReport
from manta_common.errors import Unreachable
from manta_common.keys import Key
from manta_common.telemetry.tracing import Tracing
from manta_dashboard_gateway.publisher import COMES_BACK_SECONDS, Place, Publisher
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats
from manta_embedded.sim.clock import LoopClock
from manta_embedded.sim.loop import run

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLACE = Place(JOB_INFO, 3, Key("team", "job"))
RUNNING = JobReport(job_uid="u", cluster_uid="c", job_id="j", asked_at=NOW, status="RUNNING")
ENDED = msgspec.structs.replace(RUNNING, status="SUCCEEDED", asked_at=NOW + timedelta(seconds=3))
UNSEEN = -1


class Said:
    """A publisher, and what became of its words."""

    def __init__(self, bus: SimulatedBus) -> None:
        self.seconds = 0.0
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.publisher = Publisher(bus, lambda: self.seconds, Tracing(), told=lambda word: self.outcomes.update([word]))

    async def say(self, report: JobReport, shown: int = UNSEEN) -> None:
        await self.publisher.say(PLACE, "u", report, shown=shown)


@pytest.fixture
def nats() -> SimulatedNats:
    return SimulatedNats(LoopClock(), random.Random(0))


@pytest.fixture
def connect(nats: SimulatedNats) -> Callable[[], Said]:
    return lambda: Said(SimulatedBus(nats))


def standing(nats: SimulatedNats) -> State[JobReport]:
    message = nats.stream.find(PLACE.subject)
    assert message
    return JOB_INFO.decode(message.body)


async def test_only_news_is_published(connect: Callable[[], Said], nats: SimulatedNats) -> None:
    said = connect()
    for report in (RUNNING, msgspec.structs.replace(RUNNING, asked_at=ENDED.asked_at), ENDED):
        await said.say(report)
    assert said.outcomes == {"published": 2, "unchanged": 1}
    assert (standing(nats).object, nats.stream.last) == (ENDED, 2)


async def test_a_new_gateway_knows_what_the_old_one_said(connect: Callable[[], Said], nats: SimulatedNats) -> None:
    await connect().say(RUNNING)
    said = connect()
    assert await said.publisher.recall(PLACE, UNSEEN) == RUNNING
    await said.say(RUNNING)
    assert said.outcomes == {"unchanged": 1}


async def test_what_another_wrote_meanwhile_is_written_over_once(
    connect: Callable[[], Said], nats: SimulatedNats
) -> None:
    said, other = connect(), connect()
    await said.say(RUNNING)
    await other.say(msgspec.structs.replace(RUNNING, status="PENDING"))
    await said.say(ENDED)
    assert said.outcomes == {"published": 2, "conflict": 1}
    assert standing(nats).object == ENDED


async def test_what_another_said_in_the_same_words_stays(connect: Callable[[], Said], nats: SimulatedNats) -> None:
    said, other = connect(), connect()
    await said.say(RUNNING)
    await other.say(ENDED)
    await said.say(ENDED)
    assert said.outcomes == {"published": 1, "conflict": 1}
    assert nats.stream.last == 2


async def test_the_version_grows_though_a_clock_is_behind(connect: Callable[[], Said], nats: SimulatedNats) -> None:
    await connect().say(ENDED)
    before = int(standing(nats).version)
    await connect().say(RUNNING)
    assert int(standing(nats).version) == before + 1


async def test_what_the_feed_does_not_show_is_looked_for(connect: Callable[[], Said], nats: SimulatedNats) -> None:
    said = connect()
    await said.say(RUNNING)
    assert not said.publisher.is_lost(PLACE, UNSEEN)
    said.seconds += COMES_BACK_SECONDS
    assert said.publisher.is_lost(PLACE, UNSEEN)
    assert not said.publisher.is_lost(PLACE, int(standing(nats).version))
    nats.wipe()
    await said.say(RUNNING)
    assert said.outcomes == {"published": 2}
    assert standing(nats).object == RUNNING


async def test_what_the_feed_showed_once_must_not_vanish(connect: Callable[[], Said], nats: SimulatedNats) -> None:
    said = connect()
    await said.say(RUNNING)
    await said.say(RUNNING, shown=int(standing(nats).version))
    nats.wipe()
    assert said.publisher.is_lost(PLACE, UNSEEN)
    await said.say(RUNNING)
    assert standing(nats).object == RUNNING


def test_what_may_have_been_written_is_looked_for() -> None:
    async def main() -> None:
        nats = SimulatedNats(LoopClock(), random.Random(0))
        bus = SimulatedBus(nats)
        said = Said(bus)
        await said.say(RUNNING)
        bus.cut()
        with pytest.raises(Unreachable):
            await said.say(ENDED)
        bus.mend()
        await said.say(ENDED)
        assert standing(nats).object == ENDED

    run(main())


async def test_a_message_that_cannot_be_read_is_written_over(connect: Callable[[], Said], nats: SimulatedNats) -> None:
    await SimulatedBus(nats).publish(PLACE.subject, b"what?")
    await connect().say(RUNNING)
    assert standing(nats).object == RUNNING


async def test_a_report_is_buried(connect: Callable[[], Said], nats: SimulatedNats) -> None:
    said = connect()
    await said.say(RUNNING)
    before = int(standing(nats).version)
    await said.publisher.bury(PLACE, "u")
    assert (standing(nats).object, int(standing(nats).version)) == (None, before + 1)
    await said.say(RUNNING)
    assert standing(nats).object == RUNNING
