"""What is wrong with a job is remembered, but only while all that the rules look at is the same."""

from typing import Any

import msgspec
import pytest

from manta_common.api.gates import Gates
from manta_common.api.rayjob import RayJob
from manta_common.keys import Key
from manta_common.plane import Item
from manta_job_reconciler import judge
from manta_job_reconciler.judge import Judge
from manta_job_reconciler.policies.validity import lasting_problem, problem
from tests.examples import manifests
from tests.unit.manta_job_reconciler.made import job

ITEM = Item(0, Key("default", "train"))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the jobs that the rules were asked about."""
    found: list[str] = []

    def look(about: RayJob, gates: Gates) -> tuple[str, str] | None:
        found.append(about.metadata.name)
        return lasting_problem(about, gates)

    monkeypatch.setattr(judge, "lasting_problem", look)
    return found


def changed(about: RayJob, part: str, **fields: Any) -> RayJob:
    return msgspec.structs.replace(about, **{part: msgspec.structs.replace(getattr(about, part), **fields)})


def test_a_job_that_has_a_new_status_and_version_only_is_not_looked_at_again(looks: list[str]) -> None:
    about, judges = job(), Judge(Gates())
    later = changed(changed(about, "status", job_status="RUNNING"), "metadata", resource_version="9")
    copy = msgspec.json.decode(msgspec.json.encode(later), type=RayJob)
    assert [judges.problem(ITEM, one) for one in (about, about, later, copy)] == [None] * 4
    assert len(looks) == 1


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        pytest.param("spec", {"backoff_limit": -1}, id="another spec"),
        pytest.param("metadata", {"name": "Not_A_Name"}, id="another name"),
        pytest.param("metadata", {"annotations": {"ray.io/ft-enabled": "true"}}, id="other annotations"),
        pytest.param("metadata", {"labels": {"a": "b"}}, id="other labels"),
        pytest.param("status", {"job_deployment_status": "Waiting"}, id="a state that cannot be"),
    ],
)
def test_whatever_changes_the_verdict_is_as_if_the_job_were_new(part: str, fields: dict[str, Any]) -> None:
    about, judges = job(), Judge(Gates())
    other = changed(about, part, **fields)
    assert judges.problem(ITEM, about) is None
    assert judges.problem(ITEM, other) == problem(other, Gates())
    assert judges.problem(ITEM, about) is None


def test_a_job_that_is_gone_is_forgotten(looks: list[str]) -> None:
    judges, about = Judge(Gates()), job()
    judges.problem(ITEM, about)
    judges.forget(ITEM)
    judges.problem(ITEM, about)
    assert len(looks) == 2


def test_a_job_that_went_to_another_replica_is_forgotten(looks: list[str]) -> None:
    judges, about = Judge(Gates()), job()
    judges.problem(ITEM, about)
    judges.lose(lambda item: item != ITEM)
    judges.problem(ITEM, about)
    assert len(looks) == 1
    judges.lose(lambda item: item == ITEM)
    judges.problem(ITEM, about)
    assert len(looks) == 2


@pytest.mark.parametrize("mode", ["HttpMode", ""])
def test_a_mode_that_is_none_is_named(mode: str) -> None:
    wrong = Judge(Gates()).problem(ITEM, changed(job(), "spec", submission_mode=mode))
    modes = "K8sJobMode, HTTPMode, InteractiveMode, SidecarMode"
    told = f"The RayJob spec is invalid: submissionMode must be one of {modes}, got: {mode!r}"
    assert wrong == ("InvalidRayJobSpec", told)


def test_a_cluster_that_would_be_refused_is_refused_with_its_job() -> None:
    strategy = {"type": "Recreate"}
    wrong = Judge(Gates()).problem(ITEM, job(rayClusterSpec={**manifests.CLUSTER, "upgradeStrategy": strategy}))
    assert wrong == (
        "InvalidRayJobSpec",
        "The RayJob spec is invalid: upgradeStrategy cannot be set when RayCluster is created by RayJob",
    )
