"""Calls of many keys at once: each key in its turn, as many as the server takes, and nothing lost."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from manta_common.turns import COURTESY, LEAST, SHARE, TURN, Turns
from tests.unit.manta_common.virtual import run


class Server:
    """Answers so many calls at once, each within `seconds`; the others wait."""

    def __init__(self, *, at_once: int, seconds: float = 0.01) -> None:
        self._room, self._seconds = asyncio.Semaphore(at_once), seconds
        self.answered: list[str] = []
        self.under_way, self.most = 0, 0

    async def call(self, name: str) -> str:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        async with self._room:
            await asyncio.sleep(self._seconds)
        self.under_way -= 1
        self.answered.append(name)
        return name


async def make(turns: Turns[str], server: Server, *keys: str) -> None:
    await asyncio.gather(*(turns.take(key, "create", partial(server.call, key)) for key in keys))


def test_what_was_called_is_returned() -> None:
    async def main() -> str:
        return await Turns[str]().take("a", "create", partial(Server(at_once=1).call, "a"))

    assert run(main()) == "a"


def test_a_key_with_many_calls_does_not_hold_up_another() -> None:
    async def main() -> int:
        turns, server = Turns[str](least=4, most=4), Server(at_once=4)
        await make(turns, server, *["large"] * 200, "small")
        return server.answered.index("small")

    assert run(main()) <= 8


@pytest.mark.parametrize(
    ("others", "most"),
    [
        pytest.param(True, LEAST // SHARE, id="while others are at work no more than its share"),
        pytest.param(False, LEAST, id="else all of them"),
    ],
)
def test_what_a_key_alone_has_of_the_places(others: bool, most: int) -> None:
    async def main(*keys: str) -> int:
        turns, server = Turns[str](are_others_at_work=lambda: others), Server(at_once=1)
        await make(turns, server, *(key for key in keys for _ in range(100)))
        return server.most

    assert run(main("a")) == most
    assert run(main(*"abcdefghijkl")) == LEAST + COURTESY


def test_a_place_that_one_key_may_not_have_goes_to_another_at_once() -> None:
    async def main() -> list[str]:
        turns, server = Turns[str](least=8, most=8, are_others_at_work=lambda: True), Server(at_once=8)
        await make(turns, server, *["large"] * 6, *["small"] * 2)
        return server.answered

    assert sorted(run(main())[:2]) == ["large", "small"]


def test_many_keys_at_once_get_a_few_more_places_than_one() -> None:
    async def main() -> int:
        turns, server = Turns[str](least=4), Server(at_once=2)
        await make(turns, server, *(f"key-{number}" for number in range(200)))
        return server.most

    assert run(main()) == 4 + COURTESY


def test_free_places_go_round_between_keys() -> None:
    async def main() -> list[str]:
        turns, server = Turns[str](least=1, most=1), Server(at_once=1)
        await make(turns, server, *"aaabbbcc")
        return server.answered

    assert "".join(run(main())) == "abcabcab"


def test_many_small_keys_are_done_one_after_the_other() -> None:
    async def one(turns: Turns[str], server: Server, key: str) -> None:
        for _ in range(5):
            await make(turns, server, key)

    async def main() -> list[str]:
        turns, server = Turns[str](least=4, most=4), Server(at_once=4)
        await asyncio.gather(*(one(turns, server, f"key-{number}") for number in range(100)))
        return server.answered

    answered = run(main())
    ends = {key: place for place, key in enumerate(answered)}  # the last call of each
    assert ends["key-0"] < len(answered) / 10
    assert ends["key-50"] < 0.6 * len(answered)


def test_a_key_that_was_done_with_its_turn_goes_behind_those_that_wait() -> None:
    async def main() -> list[str]:
        turns, server = Turns[str](least=1, most=1), Server(at_once=1)
        await make(turns, server, *["large"] * 3 * TURN, *["new"] * 2)
        return server.answered

    answered = run(main())
    assert answered.index("new") <= TURN
    assert answered[-TURN:] == ["large"] * TURN


@pytest.mark.parametrize(
    ("at_once", "holds"),
    [
        pytest.param(1000, lambda places: places == 64, id="a server that is never busy gets as many as there may be"),
        pytest.param(2, lambda places: places == LEAST, id="a server with room for two gets no more than the least"),
    ],
)
def test_the_number_follows_the_server(at_once: int, holds: Callable[[int], bool]) -> None:
    async def main() -> tuple[int, int]:
        turns, server = Turns[str](), Server(at_once=at_once)
        await make(turns, server, *["a"] * 1000)
        return turns.places, server.most

    places, most = run(main())
    assert holds(places)
    assert most <= places


def test_a_server_that_becomes_busy_gets_fewer_again() -> None:
    async def main() -> int:
        turns = Turns[str](least=4)
        await make(turns, Server(at_once=1000), *["a"] * 500)
        assert turns.places == 64
        await make(turns, Server(at_once=2), *["a"] * 4000)
        return turns.places

    assert run(main()) < 32


def test_few_calls_need_no_more_places() -> None:
    async def main() -> int:
        turns, server = Turns[str](), Server(at_once=1000)
        for _ in range(50):
            await make(turns, server, "a", "b")
        return turns.places

    assert run(main()) == LEAST


def test_a_failed_call_gives_its_place_back() -> None:
    async def fail() -> None:
        raise ValueError("no")

    async def main() -> None:
        turns = Turns[str](least=1, most=1)
        for _ in range(3):
            with pytest.raises(ValueError, match="no"):
                await turns.take("a", "create", fail)

    run(main())


@pytest.mark.parametrize("after", [pytest.param(0, id="while it waits"), pytest.param(0.015, id="while it is called")])
def test_whoever_is_cancelled_holds_up_nobody(after: float) -> None:
    async def main() -> list[str]:
        turns, server = Turns[str](least=1, most=1), Server(at_once=1)
        first, second = (asyncio.create_task(turns.take("a", "create", partial(server.call, name))) for name in "12")
        await asyncio.sleep(after)
        second.cancel()
        await first
        await turns.take("a", "create", partial(server.call, "3"))
        return server.answered

    assert run(main()) == ["1", "3"]


@pytest.mark.parametrize("early", [pytest.param(True, id="just before"), pytest.param(False, id="just after")])
def test_whoever_is_cancelled_as_the_turn_comes_gives_it_on(early: bool) -> None:
    async def main() -> list[str]:
        turns, server = Turns[str](least=1, most=1), Server(at_once=1)
        second: asyncio.Task[str]

        async def first() -> None:
            await server.call("1")
            if early:
                second.cancel()
            else:
                asyncio.get_running_loop().call_soon(second.cancel)

        begun = asyncio.create_task(turns.take("a", "create", first))
        second = asyncio.create_task(turns.take("a", "create", partial(server.call, "2")))
        third = asyncio.create_task(turns.take("a", "create", partial(server.call, "3")))
        await begun
        await third
        return server.answered

    assert run(main()) == ["1", "3"]
