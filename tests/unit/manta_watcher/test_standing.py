"""What stands in the stream is taken over, poison included, and a reign ends when the stream is not what it was."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from manta_common.api.raycluster import RayCluster
from manta_common.bus.channel import Channel, State
from manta_common.bus.protocol import Batch, Message
from manta_common.keys import Key
from manta_common.kinds import RAYCLUSTER
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats
from manta_embedded.sim.clock import LoopClock
from manta_embedded.sim.loop import run
from manta_watcher.desk import Desk
from manta_watcher.lines import lines
from manta_watcher.outbox import Outbox, StoodDown
from manta_watcher.standing import LOOK_SECONDS, Standing, StreamReplaced
from manta_watcher.tally import Tally
from manta_watcher.watched import Watched

CLUSTERS = Channel(RAYCLUSTER.name, RayCluster)
SUBJECT = CLUSTERS.subject(1, Key("n", "c"))
OBJECT = CLUSTERS.encode(State(key=Key("n", "c"), uid="u", version="3", object=RayCluster()))
TOMBSTONE = CLUSTERS.encode(State(key=Key("n", "c"), uid="u", version="3"))


class Scene:
    """A reign that is about to begin."""

    def __init__(self) -> None:
        self.nats = SimulatedNats(LoopClock())
        self.bus, self.tally = SimulatedBus(self.nats), Tally()
        self.outbox = Outbox(self.bus)
        self.desk = Desk(self.outbox, {RAYCLUSTER.name: CLUSTERS}, partitions=32)
        self.standing = Standing(self.desk, self.outbox, lines([Watched(RAYCLUSTER, RayCluster)], ["n"]), self.tally)


def message(body: bytes, subject: str = SUBJECT, sequence: int = 1) -> Message:
    return Message(subject=subject, body=body, sequence=sequence)


async def told(*batches: Batch) -> AsyncIterator[Batch]:
    for batch in batches:
        yield batch


def altered(**fields: object) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(OBJECT) | fields)


@pytest.mark.parametrize(
    ("found", "known", "unreadable"),
    [
        pytest.param(message(OBJECT), 1, 0, id="an object"),
        pytest.param(message(TOMBSTONE), 0, 0, id="a tombstone"),
        pytest.param(message(b"z\x00\x01"), 1, 1, id="bad bytes, where an object may be"),
        pytest.param(message(altered(schema=99)), 1, 1, id="a newer schema"),
        pytest.param(message(altered(version="odd")), 1, 1, id="a version that is no number"),
        pytest.param(message(altered(name="other")), 1, 1, id="the name of another"),
        pytest.param(message(OBJECT, "manta.v1.state.1.plain.raycluster.n"), 0, 1, id="a subject that names nothing"),
        pytest.param(
            message(OBJECT, "manta.v1.state.x.plain.raycluster.n.c"), 0, 1, id="a partition that is no number"
        ),
    ],
)
def test_a_reign_begins_with(found: Message, known: int, unreadable: int) -> None:
    async def begin() -> Scene:
        scene = Scene()
        await scene.standing.read(told(Batch(messages=(found,), fresh=True, caught_up=True)))
        return scene

    scene = run(begin())
    assert (scene.desk.known, scene.tally.unreadable, scene.outbox.known) == (known, unreadable, 1)


def test_a_reading_that_begins_anew_ends_the_reign() -> None:
    async def begin() -> None:
        part, again = Batch(messages=(message(OBJECT),), fresh=True), Batch(fresh=True, caught_up=True)
        await Scene().standing.read(told(part, again))

    with pytest.raises(StreamReplaced):
        run(begin())


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        pytest.param(Batch(fresh=True, caught_up=True), StreamReplaced, id="the stream was lost"),
        pytest.param(Batch(messages=(message(b"?", sequence=9),), caught_up=True), StoodDown, id="somebody wrote"),
    ],
)
def test_a_reign_ends_when(batch: Batch, error: type[Exception]) -> None:
    async def reign() -> None:
        await Scene().standing.guard(told(Batch(caught_up=True), batch))

    with pytest.raises(error):
        run(reign())


def test_a_stream_that_was_emptied_is_noticed() -> None:
    async def reign() -> None:
        scene = Scene()
        sequence = await scene.bus.publish(SUBJECT, OBJECT)
        await scene.standing.read(told(Batch(messages=(message(OBJECT, sequence=sequence),), caught_up=True)))
        looking = asyncio.create_task(scene.standing.look_after(scene.bus))
        await asyncio.sleep(2 * LOOK_SECONDS)
        assert not looking.done()
        scene.nats.stream.remove(SUBJECT)
        await looking

    with pytest.raises(StreamReplaced):
        run(reign())
