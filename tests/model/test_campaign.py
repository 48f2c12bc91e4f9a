"""Every play through every kind of fault: the world settles as without faults, and nothing is done twice or needlessly.

`CAMPAIGN=all` plays every place where a fault can strike; without it crashes at every write, and some of the others.
"""

import multiprocessing
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

import pytest

from tests.model.campaign import runs
from tests.model.campaign.faults import FAULTS
from tests.model.campaign.plays import PLAYS
from tests.model.campaign.runs import cases, sample, trouble

PAIRS = [(name, play) for name, fault in FAULTS.items() for play in PLAYS if not fault.plays or play in fault.plays]
CHOSEN = cases if os.environ.get("CAMPAIGN") == "all" else sample


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """A process for every core."""
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize(("fault", "play"), PAIRS)
def test_it_ends_as_without_faults(pool: Executor, fault: str, play: str) -> None:
    chosen = list(CHOSEN(play, fault))
    failed = [text for text in pool.map(trouble, map(str, chosen)) if text]
    assert chosen
    assert not failed, f"{len(failed)} of {len(chosen)} cases\n{failed[0]}"


@pytest.mark.parametrize("case", ["job-over-http/storm/3", "service-incremental/crash-after-write/serve-1:9"])
def test_a_case_is_played_again_by_its_name(case: str) -> None:
    """In another process, whatever order strings have in sets there: with the same lines, which tell what was done."""
    first, again = (_played(case, seed) for seed in ("1", "2"))
    assert first == again
    assert "it ends as without the fault" in first
    assert any("crashes" in line for line in first.splitlines())


def _played(case: str, hash_seed: str) -> str:
    command = [sys.executable, "-m", "tests.model.campaign", case]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout


def test_a_case_that_fails_is_told_with_what_happened_and_how_to_play_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "picture", lambda world: Counter([f"{world.loop.time()}"]))
    monkeypatch.setattr(runs, "SETTLE_SECONDS", 60)
    runs.without_faults.cache_clear()
    text = trouble("scale/slow-deletion/1")
    runs.without_faults.cache_clear()
    assert "the end differs from the one without faults" in text
    assert "create           pod default/a-" in text
    assert text.endswith("again: python -m tests.model.campaign scale/slow-deletion/1")
