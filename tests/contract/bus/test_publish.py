"""Writing to the bus: the last word on each subject, guarded by its sequence."""

import asyncio
from collections.abc import Callable

import pytest

from manta_common.bus.protocol import Bus
from manta_common.errors import Conflict, Refused
from tests.contract.bus.conftest import Connect
from tests.parts.eventually import eventually

MEBIBYTE = 1024 * 1024
Subject = Callable[[], str]


async def test_what_was_published_is_the_last_word(bus: Bus, subject: Subject) -> None:
    place = subject()
    sequence = await bus.publish(place, b"one")
    last = await bus.last(place)
    assert last is not None
    assert (last.subject, last.body, last.sequence) == (place, b"one", sequence)


async def test_a_subject_without_messages_has_no_last_word(bus: Bus, subject: Subject) -> None:
    assert await bus.last(subject()) is None


async def test_sequences_grow_across_subjects(bus: Bus, subject: Subject) -> None:
    sequences = [await bus.publish(subject(), b"") for _ in range(3)]
    assert sequences == sorted(set(sequences))


async def test_only_the_last_word_is_kept(bus: Bus, subject: Subject) -> None:
    place = subject()
    before = await bus.state()
    for body in (b"one", b"two", b"three"):
        await bus.publish(place, body)
    last, after = await bus.last(place), await bus.state()
    assert last is not None
    assert last.body == b"three"
    assert after.messages == before.messages + 1
    assert after.last >= before.last + 3


async def test_the_first_word_may_be_asked_for(bus: Bus, subject: Subject) -> None:
    assert await bus.publish(subject(), b"one", expect=0) > 0


async def test_a_second_first_word_is_a_conflict(bus: Bus, subject: Subject) -> None:
    place = subject()
    await bus.publish(place, b"one", expect=0)
    with pytest.raises(Conflict):
        await bus.publish(place, b"two", expect=0)


async def test_a_writer_that_knows_the_last_sequence_goes_on(bus: Bus, subject: Subject) -> None:
    place = subject()
    sequence = 0
    for body in (b"one", b"two", b"three"):
        sequence = await bus.publish(place, body, expect=sequence)
    last = await bus.last(place)
    assert last is not None
    assert last.body == b"three"


async def test_a_writer_that_is_behind_changes_nothing(bus: Bus, subject: Subject) -> None:
    place = subject()
    old = await bus.publish(place, b"one")
    await bus.publish(place, b"two")
    with pytest.raises(Conflict):
        await bus.publish(place, b"stale", expect=old)
    last = await bus.last(place)
    assert last is not None
    assert last.body == b"two"


async def test_a_sequence_expected_of_an_unused_subject_is_a_conflict(bus: Bus, subject: Subject) -> None:
    with pytest.raises(Conflict):
        await bus.publish(subject(), b"one", expect=7)


async def test_of_two_writers_that_know_the_same_one_wins(connect: Connect, subject: Subject) -> None:
    first, second = await connect(), await connect()
    place = subject()
    sequence = await first.publish(place, b"start")
    outcomes = await asyncio.gather(
        *(bus.publish(place, b"mine", expect=sequence) for bus in (first, second)), return_exceptions=True
    )
    assert {type(outcome) for outcome in outcomes} == {int, Conflict}


async def test_hundreds_at_once_all_arrive(bus: Bus, subject: Subject) -> None:
    places = [subject() for _ in range(500)]
    sequences = await asyncio.gather(*(bus.publish(place, place.encode(), expect=0) for place in places))
    assert len(set(sequences)) == len(places)
    last = await bus.last(places[-1])
    assert last is not None
    assert last.body == places[-1].encode()


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, 2 * MEBIBYTE], ids=["empty", "a byte", "64 KB", "2 MB"])
async def test_a_body_comes_back_as_it_was(bus: Bus, subject: Subject, size: int) -> None:
    place, body = subject(), bytes(range(256)) * (size // 256) + bytes(size % 256)
    await bus.publish(place, body)
    last = await bus.last(place)
    assert last is not None
    assert last.body == body


async def test_a_body_that_is_too_large_is_refused(bus: Bus, subject: Subject) -> None:
    with pytest.raises(Refused) as refused:
        await bus.publish(subject(), bytes(9 * MEBIBYTE))
    assert refused.value.code == 413


async def test_headers_come_back_as_they_were(bus: Bus, subject: Subject) -> None:
    place = subject()
    await bus.publish(place, b"", expect=0, headers={"traceparent": "00-ab-cd-01", "Name": "Zoë"}, ttl_seconds=60)
    last = await bus.last(place)
    assert last is not None
    assert last.headers == {"traceparent": "00-ab-cd-01", "Name": "Zoë"}


async def test_a_message_with_a_time_to_live_goes_away_and_leaves_the_subject_unused(
    bus: Bus, subject: Subject
) -> None:
    place = subject()
    await bus.publish(place, b"tombstone", ttl_seconds=1)

    async def is_gone() -> bool | None:
        return await bus.last(place) is None or None

    await eventually("the message expired", is_gone, limit_seconds=10)
    assert await bus.publish(place, b"again", expect=0) > 0


async def test_a_later_word_without_a_time_to_live_stays(bus: Bus, subject: Subject) -> None:
    fleeting, place = subject(), subject()
    await bus.publish(place, b"tombstone", ttl_seconds=1)
    await bus.publish(place, b"alive")
    await bus.publish(fleeting, b"", ttl_seconds=1)

    async def is_gone() -> bool | None:
        return await bus.last(fleeting) is None or None

    await eventually("one that was published later expired", is_gone, limit_seconds=10)
    last = await bus.last(place)
    assert last is not None
    assert last.body == b"alive"


async def test_the_stream_is_the_same_for_everyone(connect: Connect, subject: Subject) -> None:
    first, second = await connect(), await connect()
    sequence = await first.publish(subject(), b"")
    one, other = await first.state(), await second.state()
    assert one.created_at == other.created_at
    assert other.last >= sequence
    assert other.messages > 0


async def test_a_connection_says_that_it_is_there(bus: Bus) -> None:
    assert bus.connected
