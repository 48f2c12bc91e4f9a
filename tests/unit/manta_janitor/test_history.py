"""Which ended RayJobs of a schedule go."""

from typing import Any

import msgspec
import pytest

from manta_common.api.raycronjob import RayCronJob
from manta_janitor.policies.history import Tick, surplus
from tests.unit.manta_janitor.test_endings import ENDED, after


def schedule(good: int | None, bad: int | None) -> RayCronJob:
    limits = {"successfulJobsHistoryLimit": good, "failedJobsHistoryLimit": bad}
    spec: dict[str, Any] = {"jobTemplate": {}, "schedule": "@hourly", **limits}
    body = {"metadata": {"name": "s", "uid": "u"}, "spec": spec}
    return msgspec.json.decode(msgspec.json.encode(body), type=RayCronJob)


def tick(name: str, state: str, ended: float | None = None, *, owner: str = "u", **meta: Any) -> Tick:
    reference = {"kind": "RayCronJob", "name": "s", "uid": owner, "controller": True}
    body = {
        "metadata": {"name": name, "creationTimestamp": ENDED, "ownerReferences": [reference], **meta},
        "status": {"jobDeploymentStatus": state, "endTime": None if ended is None else after(ended)},
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=Tick)


GOOD = [tick(f"g{number}", "Complete", number) for number in (3, 1, 2)]
BAD = [tick("b1", "Failed", 1), tick("b0", "ValidationFailed"), tick("b2", "Failed", 2)]
OTHERS = [
    tick("running", "Running"),
    tick("going", "Complete", 0, deletionTimestamp=ENDED),
    tick("x", "Complete", 0, owner="v"),
]


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        pytest.param(None, None, [], id="without limits all stay"),
        pytest.param(5, 5, [], id="there is room"),
        pytest.param(1, None, ["g1", "g2"], id="those that ended first go"),
        pytest.param(None, 1, ["b0", "b1"], id="one that was refused has failed"),
        pytest.param(0, 2, ["g1", "g2", "g3", "b0"], id="none is kept"),
    ],
)
def test_surplus(good: int | None, bad: int | None, expected: list[str]) -> None:
    found = surplus(schedule(good, bad), [*GOOD, *BAD, *OTHERS])
    assert [job.metadata.name for job in found] == expected


def test_of_a_job_without_a_schedule_nothing_is_kept() -> None:
    body = {"metadata": {"name": "a", "uid": "u"}, "status": {"jobDeploymentStatus": "Complete"}}
    assert msgspec.json.decode(msgspec.json.encode(body), type=Tick).metadata.name == ""
