"""Every play through every kind of fault: the world settles as without faults, and nothing is done twice or needlessly.

`CAMPAIGN=all` plays every place where a fault can strike; without it some of each are played.
"""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

import pytest

from tests.model.campaign.faults import FAULTS
from tests.model.campaign.plays import PLAYS
from tests.model.campaign.runs import Case, cases, trouble

PAIRS = [(name, play) for name, fault in FAULTS.items() for play in PLAYS if not fault.plays or play in fault.plays]
AT_MOST = None if os.environ.get("CAMPAIGN") == "all" else 6


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """A process for every core."""
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize(("fault", "play"), PAIRS)
def test_it_ends_as_without_faults(pool: Executor, fault: str, play: str) -> None:
    chosen = _some(list(cases(play, fault)))
    failed = [text for text in pool.map(trouble, map(str, chosen)) if text]
    assert chosen
    assert not failed, f"{len(failed)} of {len(chosen)} cases\n{failed[0]}"


def _some(found: list[Case]) -> list[Case]:
    """All, or as many as there is time for, from the first to the last."""
    if AT_MOST is None or len(found) <= AT_MOST:
        return found
    return [found[number * (len(found) - 1) // (AT_MOST - 1)] for number in range(AT_MOST)]
