"""What is known for a while, and one asking for many."""

import asyncio

import pytest

from manta_common.errors import Unreachable
from manta_dashboard_gateway.cache import Cache, SingleFlight


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_what_is_known_has_an_age() -> None:
    hand = Hand()
    cache: Cache[str, int] = Cache(hand)
    cache.put("a", 1)
    hand.seconds = 5
    assert cache.find("a") == (1, 5.0)
    assert cache.find("a", max_age_seconds=5) is None
    assert cache.find("b") is None
    assert (cache.hits, cache.misses) == (1, 2)


def test_nothing_is_known_for_longer_than_allowed() -> None:
    hand = Hand()
    cache: Cache[str, int] = Cache(hand, longest_seconds=600)
    cache.put("a", 1)
    hand.seconds = 600
    assert cache.find("a") is None
    cache.put("b", 2)
    assert len(cache) == 1


def test_what_was_not_used_for_longest_makes_room() -> None:
    cache: Cache[str, int] = Cache(Hand(), most=2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.find("a")
    cache.put("c", 3)
    assert [key for key in "abc" if cache.find(key)] == ["a", "c"]


def test_what_was_dropped_is_not_known() -> None:
    cache: Cache[str, int] = Cache(Hand())
    cache.put("a", 1)
    cache.drop("a")
    cache.drop("b")
    assert cache.find("a") is None


class Asking:
    """Counts how often it was asked, and answers when it is let."""

    def __init__(self) -> None:
        self.times, self.may_answer = 0, asyncio.Event()

    async def __call__(self) -> int:
        self.times += 1
        await self.may_answer.wait()
        return self.times


async def test_equal_questions_are_asked_once() -> None:
    flight, asking = SingleFlight(), Asking()
    waiting = [asyncio.ensure_future(flight.run("q", asking)) for _ in range(5)]
    other = asyncio.ensure_future(flight.run("another", asking))
    await asyncio.sleep(0)
    asking.may_answer.set()
    assert await asyncio.gather(*waiting) == [2] * 5
    assert await other == 2
    assert (asking.times, flight.shared) == (2, 4)


async def test_all_get_the_error() -> None:
    async def fail() -> int:
        await asyncio.sleep(0)
        raise Unreachable("no")

    flight = SingleFlight()
    found = await asyncio.gather(*(flight.run("q", fail) for _ in range(3)), return_exceptions=True)
    assert [str(error) for error in found] == ["no"] * 3


async def test_when_the_one_who_asks_gives_up_the_next_one_asks() -> None:
    flight, asking = SingleFlight(), Asking()
    first, second = (asyncio.ensure_future(flight.run("q", asking)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    asking.may_answer.set()
    assert await second == 2


async def test_who_waits_may_give_up() -> None:
    flight, asking = SingleFlight(), Asking()
    first, second = (asyncio.ensure_future(flight.run("q", asking)) for _ in range(2))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    asking.may_answer.set()
    assert await first == 1
