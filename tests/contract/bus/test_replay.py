"""Reading the bus: the last word on each subject, then what comes, in order and without gaps."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable

import pytest

from manta_common.bus.protocol import Batch, Bus, Message
from tests.contract.bus.conftest import Connect
from tests.parts.eventually import eventually
from tests.parts.patience import patient

LIMIT_SECONDS = 30
Subject = Callable[[], str]


async def test_nothing_is_caught_up_at_once(bus: Bus, partition: int) -> None:
    async with bus.replay([f"manta.v1.state.{partition}.>"]) as batches:
        assert await _next(batches) == Batch(fresh=True, caught_up=True)


async def test_what_was_there_comes_first(bus: Bus, partition: int, subject: Subject) -> None:
    places = [subject() for _ in range(5)]
    for place in places:
        await bus.publish(place, place.encode())
    assert [message.subject for message in await _replayed(bus, partition)] == places


async def test_of_each_subject_comes_the_last_word_only(bus: Bus, partition: int, subject: Subject) -> None:
    first, second = subject(), subject()
    for place, body in ((first, b"old"), (second, b"only"), (first, b"new")):
        await bus.publish(place, body)
    found = await _replayed(bus, partition)
    assert [(message.subject, message.body) for message in found] == [(second, b"only"), (first, b"new")]


async def test_messages_come_with_their_sequence_and_headers(bus: Bus, partition: int, subject: Subject) -> None:
    place = subject()
    sequence = await bus.publish(place, b"body", expect=0, headers={"traceparent": "00-1"})
    [message] = await _replayed(bus, partition)
    assert message == Message(subject=place, body=b"body", sequence=sequence, headers={"traceparent": "00-1"})


async def test_then_comes_what_is_published_in_order(bus: Bus, partition: int, subject: Subject) -> None:
    await bus.publish(subject(), b"before")
    async with bus.replay([f"manta.v1.state.{partition}.>"]) as batches:
        await _caught_up(batches)
        places = [subject() for _ in range(20)]
        for place in places:
            await bus.publish(place, b"after")
        found = await _messages(batches, len(places))
    assert [message.subject for message in found] == places


async def test_only_the_first_batch_is_fresh_and_caught_up_stays(bus: Bus, partition: int, subject: Subject) -> None:
    await bus.publish(subject(), b"before")
    async with bus.replay([f"manta.v1.state.{partition}.>"]) as batches:
        first = await _next(batches)
        await bus.publish(subject(), b"after")
        second = await _next(batches)
    assert (first.fresh, first.caught_up) == (True, True)
    assert (second.fresh, second.caught_up) == (False, True)


async def test_several_words_on_one_subject_end_with_the_last(bus: Bus, partition: int, subject: Subject) -> None:
    place = subject()
    async with bus.replay([f"manta.v1.state.{partition}.>"]) as batches:
        await _caught_up(batches)
        for number in range(50):
            await bus.publish(place, str(number).encode())
        found = [message async for message in _until(batches, b"49")]
    sequences = [message.sequence for message in found]
    assert sequences == sorted(set(sequences))


async def test_other_partitions_are_not_read(bus: Bus, partition: int, subject: Subject) -> None:
    await bus.publish(f"manta.v1.state.{partition + 1}.pod.default.other", b"")
    place = subject()
    await bus.publish(place, b"")
    assert [message.subject for message in await _replayed(bus, partition)] == [place]


async def test_one_kind_of_all_partitions_is_read(bus: Bus, partition: int) -> None:
    kind = f"kind{partition}"
    wanted = [f"manta.v1.state.{number}.{kind}.default.a" for number in (partition, partition + 1)]
    for place in (*wanted, f"manta.v1.state.{partition}.pod.default.a"):
        await bus.publish(place, b"")
    async with bus.replay([f"manta.v1.state.*.{kind}.>"]) as batches:
        found = await _caught_up(batches)
    assert [message.subject for message in found] == wanted


async def test_several_subjects_are_read_as_one(bus: Bus, partition: int, subject: Subject) -> None:
    places = [f"manta.v1.state.{partition + number % 2}.pod.default.{number}" for number in range(6)]
    for place in places:
        await bus.publish(place, b"")
    subjects = [f"manta.v1.state.{partition + number}.>" for number in range(2)]
    async with bus.replay(subjects) as batches:
        found = await _caught_up(batches)
    assert [message.subject for message in found] == places


async def test_thousands_come_whole_and_once(bus: Bus, partition: int, subject: Subject) -> None:
    places = [subject() for _ in range(3000)]
    await asyncio.gather(*(bus.publish(place, bytes(100)) for place in places))
    found = await _replayed(bus, partition)
    assert sorted(message.subject for message in found) == sorted(places)
    assert [message.sequence for message in found] == sorted(message.sequence for message in found)


async def test_large_messages_come_whole(bus: Bus, partition: int, subject: Subject) -> None:
    for _ in range(12):
        await bus.publish(subject(), bytes(1_400_000))
    assert [len(message.body) for message in await _replayed(bus, partition)] == [1_400_000] * 12


async def test_what_changes_during_the_replay_ends_with_the_last_word(
    connect: Connect, partition: int, subject: Subject
) -> None:
    reader, writer = await connect(), await connect()
    places = [subject() for _ in range(1500)]
    await asyncio.gather(*(writer.publish(place, b"old") for place in places))
    seen: dict[str, bytes] = {}
    async with reader.replay([f"manta.v1.state.{partition}.>"]) as batches:
        first = await _next(batches)
        await asyncio.gather(*(writer.publish(place, b"new") for place in places))
        seen |= {message.subject: message.body for message in first.messages}
        while set(seen.values()) != {b"new"} or len(seen) < len(places):
            seen |= {message.subject: message.body for message in (await _next(batches)).messages}


async def test_two_replays_do_not_disturb_each_other(bus: Bus, partition: int, subject: Subject) -> None:
    place = subject()
    await bus.publish(place, b"before")
    pattern = f"manta.v1.state.{partition}.>"
    async with bus.replay([pattern]) as batches:
        await _caught_up(batches)
        assert [message.body for message in await _replayed(bus, partition)] == [b"before"]
        await bus.publish(place, b"after")
        [message] = await _messages(batches, 1)
    assert message.body == b"after"


async def test_a_message_that_expired_is_not_replayed(bus: Bus, partition: int, subject: Subject) -> None:
    gone, stays = subject(), subject()
    await bus.publish(gone, b"tombstone", ttl_seconds=1)
    await bus.publish(stays, b"alive")

    async def is_gone() -> bool | None:
        return await bus.last(gone) is None or None

    await eventually("the message expired", is_gone, limit_seconds=10)
    assert [message.subject for message in await _replayed(bus, partition)] == [stays]


async def test_a_reader_that_waits_sees_what_others_write(connect: Connect, partition: int, subject: Subject) -> None:
    reader, writer = await connect(), await connect()
    place = subject()
    async with reader.replay([f"manta.v1.state.{partition}.>"]) as batches:
        await _caught_up(batches)
        waiting = asyncio.create_task(_messages(batches, 1))
        await writer.publish(place, b"news")
        [message] = await waiting
    assert (message.subject, message.body) == (place, b"news")


async def test_a_replay_can_be_given_up_in_the_middle(bus: Bus, partition: int, subject: Subject) -> None:
    for place in [subject() for _ in range(10)]:
        await bus.publish(place, b"")
    for _ in range(3):
        async with bus.replay([f"manta.v1.state.{partition}.>"]) as batches:
            await _next(batches)
    assert len(await _replayed(bus, partition)) == 10


@pytest.mark.parametrize("names", [["a.b", "a-b"]], ids=["a dot and a dash"])
async def test_names_that_look_alike_are_different_subjects(bus: Bus, partition: int, names: list[str]) -> None:
    for name in names:
        await bus.publish(f"manta.v1.state.{partition}.pod.default.{name.replace('.', '_')}", name.encode())
    assert [message.body.decode() for message in await _replayed(bus, partition)] == names


async def _replayed(bus: Bus, partition: int) -> list[Message]:
    async with bus.replay([f"manta.v1.state.{partition}.>"]) as batches:
        return await _caught_up(batches)


async def _caught_up(batches: AsyncIterator[Batch]) -> list[Message]:
    found: list[Message] = []
    for number in itertools.count():
        batch = await _next(batches)
        assert batch.fresh == (number == 0)
        found += batch.messages
        if batch.caught_up:
            break
    return found


async def _messages(batches: AsyncIterator[Batch], count: int) -> list[Message]:
    found: list[Message] = []
    while len(found) < count:
        found += (await _next(batches)).messages
    return found


async def _until(batches: AsyncIterator[Batch], body: bytes) -> AsyncIterator[Message]:
    while True:
        for message in (await _next(batches)).messages:
            yield message
            if message.body == body:
                return


async def _next(batches: AsyncIterator[Batch]) -> Batch:
    async with asyncio.timeout(patient(LIMIT_SECONDS)):
        return await anext(batches)
