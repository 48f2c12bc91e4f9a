"""Who else is at work: what is heard beyond our own writes, and not long ago."""

import pytest

from manta_common.company import LAGGING, LEAST, MOST, SILENCE_SECONDS, Company


class Stage:
    """A company at a time of its own."""

    def __init__(self) -> None:
        self.time = 0.0
        self.company = Company(lambda: self.time)

    def play(self, *, wrote: int = 0, heard: int = 0) -> bool:
        """We write, then changes are heard; whether somebody else is there."""
        for _ in range(wrote):
            self.company.wrote()
        for _ in range(heard):
            self.company.heard()
        return self.company.is_there()


@pytest.mark.parametrize(
    ("wrote", "heard", "is_there"),
    [
        pytest.param(0, 0, False, id="nothing has happened"),
        pytest.param(50, 50, False, id="our own writes only"),
        pytest.param(50, 20, False, id="not even all of ours"),
        pytest.param(50, 150, True, id="each is scheduled and started"),
        pytest.param(0, LEAST, False, id="a few that may be ours"),
        pytest.param(0, LEAST + 1, True, id="more than that"),
    ],
)
def test_changes_beyond_our_own_writes_are_of_others(wrote: int, heard: int, is_there: bool) -> None:
    assert Stage().play(wrote=wrote, heard=heard) == is_there


def test_nobody_is_there_after_some_silence() -> None:
    stage = Stage()
    assert stage.play(heard=100)
    stage.time = SILENCE_SECONDS
    assert stage.play()
    stage.time += 0.1
    assert not stage.play()
    assert not stage.play(heard=LEAST)


def test_others_who_did_much_are_not_believed_to_be_there_for_long() -> None:
    stage = Stage()
    stage.play(heard=1000)
    assert not stage.play(wrote=MOST)


def test_writes_that_nothing_is_ever_heard_of_do_not_hide_others_for_long() -> None:
    assert Stage().play(wrote=1000, heard=LEAST + 1 - LAGGING)
