"""The watch of a bucket tells of every key that goes, once, however it is found out."""

import contextlib

from manta_common.bus.protocol import Batch, Entry, Message
from manta_common.bus.replay import Replay
from manta_common.bus.watch import GRACE_SECONDS, Watch
from manta_embedded.sim.clock import LoopClock
from tests.unit.manta_common.virtual import run

LIVES_SECONDS = 6.0


def message(key: str) -> Message:
    return Message(subject=key, body=b"{}", sequence=1)


class Bucket:
    """A bucket of which the test says what there is."""

    def __init__(self) -> None:
        self.there: set[str] = set()

    async def get(self, key: str) -> Entry | None:
        return Entry(key=key, value=b"{}", revision=1) if key in self.there else None

    def entry(self, message: Message) -> tuple[Entry, float | None]:
        return Entry(key=message.subject, value=message.body, revision=message.sequence), LIVES_SECONDS


class Scripted(Replay):
    """A reading that passes on what the test says; an empty batch comes after the lives of all keys."""

    def __init__(self, *batches: Batch) -> None:
        self._batches = iter(batches)

    async def next(self, limit_seconds: float) -> Batch | None:
        batch = next(self._batches)
        if not batch.messages and not batch.caught_up:
            await LoopClock().sleep(LIVES_SECONDS + 2 * GRACE_SECONDS)
        return batch


async def told(bucket: Bucket, *batches: Batch) -> list[tuple[str, bool]]:
    """The keys that a watch tells of, and whether they are there, until the batches are over."""
    found: list[Entry | None] = []
    with contextlib.suppress(RuntimeError):  # of an iterator that is over within a generator
        async for entry in Watch(Scripted(*batches), bucket, LoopClock()).entries():
            found += [entry]
    return [(entry.key, entry.value is not None) for entry in found if entry]


def test_a_key_that_expires_while_everything_is_read_anew_is_told_of_once() -> None:
    first = Batch(messages=(message("a"), message("b")), fresh=True, caught_up=True)
    anew, whole = Batch(fresh=True), Batch(messages=(message("b"),), caught_up=True)
    bucket = Bucket()
    bucket.there = {"b"}
    assert run(told(bucket, first, anew, whole)) == [("a", True), ("b", True), ("a", False), ("b", True)]


def test_a_key_that_a_new_reading_does_not_show_is_gone() -> None:
    first = Batch(messages=(message("a"), message("b")), fresh=True, caught_up=True)
    anew = Batch(messages=(message("b"),), fresh=True, caught_up=True)
    assert run(told(Bucket(), first, anew)) == [("a", True), ("b", True), ("b", True), ("a", False)]
