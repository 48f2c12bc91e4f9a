"""Specs that nobody has thought of: refused with the field named, or served and told of truthfully; and never stuck.

`FUZZ=1000` plays so many seeds; without it as many as there is time for in every run of the tests.
"""

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NoReturn

import pytest

from manta_common.ray import sums
from manta_embedded.sim.simulate import ScenarioFailed
from manta_job_reconciler.policies import validity
from tests.model.fuzz.runs import run, trouble

SEEDS = int(os.environ.get("FUZZ", "25"))


def test_every_spec_is_refused_or_served_and_no_status_lies() -> None:
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        failed = [text for text in pool.map(trouble, range(SEEDS), chunksize=2) if text]
    assert SEEDS > 0
    assert not failed, f"{len(failed)} of {SEEDS} seeds\n{failed[0]}"


def _one_more(count: Callable[[Any], int]) -> Callable[[Any], int]:
    return lambda spec: count(spec) + 1


def _crash(*_: object) -> NoReturn:
    raise KeyError("a field that this spec does not have")


def test_a_status_that_counts_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "desired_workers", _one_more(sums.desired_workers))
    with pytest.raises(ScenarioFailed, match="desiredWorkerReplicas is"):
        _play_some()


def test_a_pass_that_crashes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validity, "refused", _crash)
    with pytest.raises(ScenarioFailed, match="pass crashed"):
        _play_some()


def _play_some() -> None:
    for seed in range(5):
        run(seed)
