"""KubeRay's metrics of jobs."""

import pytest

from manta_common.api.rayjob import RayJob
from manta_common.keys import Key
from manta_common.plane import Item
from manta_common.telemetry.exposition import exposition
from manta_common.telemetry.metrics import Registry
from manta_job_reconciler.gauges import Gauges
from tests.unit.manta_job_reconciler.made import NOW, ago, job, observed, running

ITEM = Item(0, Key("ns", "demo"))
LABELS = 'name="demo",namespace="ns",uid="job-uid"'


def made(**said: object) -> RayJob:
    return observed(job(), running(**said)).job


def series(registry: Registry) -> set[str]:
    return {line for line in exposition([registry]).splitlines() if not line.startswith("#")}


def gauges(registry: Registry, *, ours: bool = True) -> Gauges:
    return Gauges(registry, lambda item: ours)


def test_a_job_and_its_state_are_shown() -> None:
    registry = Registry()
    gauges(registry).saw(ITEM, made())
    assert series(registry) == {
        f"kuberay_job_info{{{LABELS}}} 1",
        f'kuberay_job_deployment_status{{{LABELS},deployment_status="Running"}} 1',
    }


def test_a_job_of_another_replica_is_not_shown() -> None:
    registry = Registry()
    gauges(registry, ours=False).saw(ITEM, made())
    assert series(registry) == set()


@pytest.mark.parametrize("state", ["Complete", "Failed", "Retrying"])
def test_an_end_is_timed_and_forgotten_with_the_job(state: str) -> None:
    registry = Registry()
    found = gauges(registry)
    found.saw(ITEM, made(failed=1))
    found.wrote(made(failed=1, start_time=ago(30)), running(job_deployment_status=state, start_time=ago(30)), NOW)
    name = "kuberay_job_execution_duration_seconds"
    assert f'{name}{{{LABELS},job_deployment_status="{state}",retry_count="1"}} 30' in series(registry)
    found.gone(ITEM)
    assert series(registry) == set()


def test_a_job_that_went_to_another_replica_is_not_shown_again_when_its_partition_comes_back() -> None:
    registry = Registry()
    found = gauges(registry)
    found.saw(ITEM, made())
    found.lose(lambda item: item.partition == 1)
    assert series(registry)
    found.lose(lambda item: item.partition == 0)
    assert series(registry) == set()


def test_what_is_no_end_is_not_timed() -> None:
    registry = Registry()
    found = gauges(registry)
    found.wrote(made(), running(job_status="RUNNING"), NOW)
    found.wrote(made(job_deployment_status="Complete"), running(job_deployment_status="Complete"), NOW)
    assert series(registry) == set()
