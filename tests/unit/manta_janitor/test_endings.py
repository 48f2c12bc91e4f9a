"""When what of an ended RayJob is deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manta_common.api.gates import Gates
from manta_janitor.observed import Ended, EndingJob, JanitorSettings, JobCluster
from manta_janitor.policies.endings import IMPACT, Plan, plan

ENDED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def job(
    state: str = "Complete", ray: str = "SUCCEEDED", *, meta: dict[str, Any] | None = None, **spec: Any
) -> EndingJob:
    body = {
        "metadata": {"name": "j", "namespace": "ns", "uid": "u", **(meta or {})},
        "spec": spec,
        "status": {"jobDeploymentStatus": state, "jobStatus": ray, "endTime": ENDED, "rayClusterName": "c"},
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=EndingJob)


def cluster(*suspended: bool, deleting: bool = False) -> JobCluster:
    groups = [{"groupName": f"g{index}", "template": {}, "suspend": each} for index, each in enumerate(suspended)]
    meta: dict[str, Any] = {"name": "c", "namespace": "ns", "uid": "cu"}
    if deleting:
        meta["deletionTimestamp"] = ENDED
    body = {"metadata": meta, "spec": {"workerGroupSpecs": groups}}
    return msgspec.json.decode(msgspec.json.encode(body), type=JobCluster)


def rule(policy: str, seconds: int = 0, **condition: str) -> dict[str, Any]:
    return {"policy": policy, "condition": {**(condition or {"jobStatus": "SUCCEEDED"}), "ttlSeconds": seconds}}


def rules(*of: dict[str, Any]) -> dict[str, Any]:
    return {"deletionStrategy": {"deletionRules": list(of)}}


def after(seconds: float) -> datetime:
    return ENDED + timedelta(seconds=seconds)


def told(found: Plan) -> tuple[str | None, str | None]:
    return (found.due.policy if found.due else None, found.upcoming.policy if found.upcoming else None)


LEGACY: dict[str, Any] = {
    "deletionStrategy": {"onSuccess": {"policy": "DeleteWorkers"}, "onFailure": {"policy": "DeleteCluster"}}
}
SHUTDOWN: dict[str, Any] = {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 10}
THREE = rules(rule("DeleteWorkers", 10), rule("DeleteCluster", 20), rule("DeleteSelf", 30))


@pytest.mark.parametrize(
    ("about", "there", "seconds", "expected"),
    [
        pytest.param(job(), cluster(False), 1e6, (None, None), id="nothing is asked for"),
        pytest.param(job(**SHUTDOWN), cluster(False), 9, (None, "DeleteCluster"), id="not before its time"),
        pytest.param(job(**SHUTDOWN), cluster(False), 10, ("DeleteCluster", None), id="in time"),
        pytest.param(job(**SHUTDOWN), None, 10, (None, None), id="the cluster is gone already"),
        pytest.param(job(**SHUTDOWN), cluster(deleting=True), 10, (None, None), id="the cluster goes already"),
        pytest.param(
            job("Failed", "RUNNING", **SHUTDOWN), cluster(False), 10, ("DeleteCluster", None), id="by deadline"
        ),
        pytest.param(job("Running", **SHUTDOWN), cluster(False), 99, (None, None), id="it has not ended"),
        pytest.param(job("ValidationFailed", **SHUTDOWN), cluster(False), 99, (None, None), id="it was refused"),
        pytest.param(
            job(clusterSelector={"ray.io/cluster": "c"}, **rules(rule("DeleteSelf"))),
            cluster(False),
            99,
            (None, None),
            id="on somebody else's cluster",
        ),
        pytest.param(job(managedBy="x", **SHUTDOWN), cluster(False), 99, (None, None), id="somebody else's job"),
        pytest.param(
            job(meta={"deletionTimestamp": ENDED}, **SHUTDOWN), cluster(False), 99, (None, None), id="it goes already"
        ),
        pytest.param(job(**LEGACY), cluster(False), 0, ("DeleteWorkers", None), id="after success"),
        pytest.param(job(**LEGACY), cluster(True, True), 0, (None, None), id="the workers are gone already"),
        pytest.param(job(**LEGACY), cluster(True, False), 0, ("DeleteWorkers", None), id="some workers are left"),
        pytest.param(job("Failed", "FAILED", **LEGACY), cluster(False), 0, ("DeleteCluster", None), id="after failure"),
        pytest.param(job("Complete", "STOPPED", **LEGACY), cluster(False), 99, (None, None), id="it was stopped"),
        pytest.param(job(**THREE), cluster(False), 5, (None, "DeleteWorkers"), id="the first rule is next"),
        pytest.param(job(**THREE), cluster(False), 10, ("DeleteWorkers", "DeleteCluster"), id="the first rule is due"),
        pytest.param(job(**THREE), cluster(True), 10, (None, "DeleteCluster"), id="the first rule is done"),
        pytest.param(job(**THREE), cluster(False), 25, ("DeleteCluster", "DeleteSelf"), id="the rule with most impact"),
        pytest.param(job(**THREE), None, 25, (None, "DeleteSelf"), id="only the job is left"),
        pytest.param(job(**THREE), None, 30, ("DeleteSelf", None), id="the job itself"),
        pytest.param(job("Failed", "FAILED", **THREE), cluster(False), 99, (None, None), id="rules of another end"),
        pytest.param(
            job("Failed", "RUNNING", **rules(rule("DeleteCluster", jobDeploymentStatus="Failed"))),
            cluster(False),
            0,
            ("DeleteCluster", None),
            id="a rule about the RayJob",
        ),
        pytest.param(job(**rules(rule("DeleteNone"))), cluster(False), 0, (None, None), id="a rule that keeps all"),
        pytest.param(job(**rules(rule("DeleteWorkers"))), cluster(), 0, (None, None), id="no workers at all"),
    ],
)
def test_plan(about: EndingJob, there: JobCluster | None, seconds: float, expected: tuple[str, str]) -> None:
    assert told(plan(Ended(job=about, cluster=there), JanitorSettings(), after(seconds))) == expected


def test_the_job_goes_too_when_the_installation_says_so() -> None:
    found = plan(Ended(job=job(**SHUTDOWN)), JanitorSettings(deletes_jobs=True), after(10))
    assert told(found) == ("DeleteSelf", None)


def test_without_the_gate_a_strategy_does_not_count() -> None:
    settings = JanitorSettings(gates=Gates(deletion_policy=False))
    assert told(plan(Ended(job=job(**THREE), cluster=cluster(False)), settings, after(99))) == (None, None)


def test_a_plan_says_by_which_rule_and_exactly_when() -> None:
    found = plan(Ended(job=job(**THREE), cluster=cluster(False)), JanitorSettings(), after(15))
    assert found.due
    assert found.upcoming
    assert (found.due.rule, found.due.at) == ("deletionRules[0]", after(10))
    assert (found.upcoming.rule, found.upcoming.at) == ("deletionRules[1]", after(20))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(IMPACT)),
            st.integers(0, 50),
            st.sampled_from([{"jobStatus": "SUCCEEDED"}, {"jobStatus": "FAILED"}, {"jobDeploymentStatus": "Failed"}]),
        ),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 60),
    st.sampled_from([("Complete", "SUCCEEDED"), ("Failed", "FAILED"), ("Failed", "RUNNING"), ("Running", "RUNNING")]),
)
def test_nothing_is_deleted_that_no_rule_asks_for(
    asked: list[tuple[str, int, dict[str, str]]], seconds: int, outcome: tuple[str, str]
) -> None:
    made = rules(*(rule(policy, ttl, **condition) for policy, ttl, condition in asked))
    found = plan(Ended(job=job(*outcome, **made), cluster=cluster(False)), JanitorSettings(), after(seconds)).due
    state, ray = outcome
    allowed = {
        policy
        for policy, ttl, condition in asked
        if ttl <= seconds
        and state in {"Complete", "Failed"}
        and (condition.get("jobStatus") == ray or condition.get("jobDeploymentStatus") == state)
    } - {"DeleteNone"}
    assert (found.policy if found else None) == max(allowed, key=lambda each: IMPACT[each], default=None)  # type: ignore[index]
