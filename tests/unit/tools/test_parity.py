"""Recorded cases: differences that are explained count as passed, and whoever cannot play is told why."""

import pathlib
import subprocess
import sys

import pytest

from tests.tools.parity import needed

ROOT = pathlib.Path(__file__).parents[3]


def test_without_a_folder_it_says_what_to_type() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.tools.parity"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "make parity PARITY=DIR" in done.stderr


@pytest.mark.parametrize(
    ("case", "service"),
    [
        ("cluster.scale", "cluster-reconciler"),
        ("sample.ray-cluster.tls", "cluster-reconciler"),
        ("job.http", "job-reconciler"),
        ("sample.ray-job.shutdown", "janitor"),
        ("cron.suspended", "job-reconciler"),
        ("service.ready", "serve-reconciler"),
        ("sample.ray-service", "serve-reconciler"),
    ],
)
def test_a_case_is_played_only_when_its_services_are_built(case: str, service: str) -> None:
    assert service in needed(case)
