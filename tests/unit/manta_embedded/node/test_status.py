"""Statuses as a kubelet writes them."""

from collections.abc import Callable
from typing import Any

import pytest

from manta_embedded.node.records import Record
from manta_embedded.node.status import Facts, exit_code, phase, status

FACTS = Facts(started_at="t0", host="10.0.0.1", address="10.0.0.2", sandboxed=True)
Act = Callable[[Record], None]


def pod(policy: str = "Always", **found: Any) -> dict[str, Any]:
    """A pod with a restart policy."""
    return {"spec": {"restartPolicy": policy}, "status": found}


def record(*acts: Act, name: str = "main", init: bool = False, **container: Any) -> Record:
    """A container to which this happened."""
    found = Record({"name": name, "image": "i", **container}, init=init)
    for act in acts:
        act(found)
    return found


def run(found: Record) -> None:
    """It runs and is ready."""
    found.runs("t1", "process://1")
    found.has_started.set()
    found.ready = True


def end(code: int) -> Act:
    """It ends."""
    return lambda found: found.ends(code, "Error" if code else "Completed", times=("t1", "t2"))


def wait(found: Record) -> None:
    """It waits before its next life."""
    found.waits("CrashLoopBackOff", "back-off")


@pytest.mark.parametrize(
    ("policy", "records", "wanted"),
    [
        pytest.param("Always", [record()], "Pending", id="not begun"),
        pytest.param("Always", [record(run)], "Running", id="runs"),
        pytest.param("Always", [record(run), record(name="b")], "Pending", id="one has not begun"),
        pytest.param("Always", [record(run, end(1), wait)], "Running", id="waits to run again"),
        pytest.param("Never", [record(run, end(0))], "Succeeded", id="ended well"),
        pytest.param("Never", [record(run, end(0)), record(run, end(2), name="b")], "Failed", id="one ended badly"),
        pytest.param("Never", [record(run, end(1)), record(run, name="b")], "Running", id="one still runs"),
        pytest.param("OnFailure", [record(run, end(1), wait)], "Running", id="will be tried again"),
        pytest.param("OnFailure", [record(run, end(0))], "Succeeded", id="tried until it went well"),
        pytest.param("Never", [record(run, end(1), init=True), record(name="b")], "Failed", id="init failed"),
        pytest.param("Always", [record(run, init=True), record(name="b")], "Pending", id="initialises"),
        pytest.param("Always", [record(run, end(0), init=True), record(run, name="b")], "Running", id="initialised"),
        pytest.param(
            "Always", [record(run, init=True, restartPolicy="Always"), record(run, name="b")], "Running", id="sidecar"
        ),
        pytest.param(
            "Never",
            [record(run, init=True, restartPolicy="Always"), record(run, end(0), name="b")],
            "Running",
            id="all but its sidecar has ended",
        ),
    ],
)
def test_phases(policy: str, records: list[Record], wanted: str) -> None:
    assert phase(pod(policy), records, FACTS) == wanted


def words(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The conditions by type."""
    return {one["type"]: (one["status"], one.get("reason", "")) for one in found["conditions"]}


def test_conditions() -> None:
    found = status(pod(), [record(run), record(name="b")], FACTS, "t9")
    assert words(found) == {
        "PodReadyToStartContainers": ("True", ""),
        "Initialized": ("True", ""),
        "Ready": ("False", "ContainersNotReady"),
        "ContainersReady": ("False", "ContainersNotReady"),
        "PodScheduled": ("True", ""),
    }
    assert found["conditions"][2]["message"] == "containers with unready status: [b]"
    assert (found["podIP"], found["podIPs"]) == ("10.0.0.2", [{"ip": "10.0.0.2"}])


def test_times_move_with_the_status_only_and_others_conditions_stay() -> None:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "t1"}
    other = {"type": "example.com/gate", "status": "True", "lastTransitionTime": "t0"}
    found = status(pod(conditions=[ready, other]), [record(run)], FACTS, "t9")
    times = {one["type"]: one["lastTransitionTime"] for one in found["conditions"]}
    assert (times["Ready"], times["Initialized"], times["example.com/gate"]) == ("t1", "t9", "t0")


def test_a_container_that_crashed() -> None:
    found = status(pod(), [record(run, end(137), wait)], FACTS, "t9")["containerStatuses"][0]
    assert found["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
    assert found["lastState"]["terminated"]["exitCode"] == 137
    assert (found["ready"], found["started"], found["containerID"]) == (False, False, "process://1")


def test_the_node_ended_it() -> None:
    facts = Facts(started_at="t0", host="h", reason="DeadlineExceeded", message="too long")
    found = status(pod(), [record(run)], facts, "t9")
    assert (found["phase"], found["reason"], words(found)["Ready"]) == (
        "Failed",
        "DeadlineExceeded",
        ("False", "PodFailed"),
    )


def test_what_ran_in_an_earlier_life_of_the_node_is_lost() -> None:
    before = {"name": "main", "restartCount": 2, "state": {"running": {"startedAt": "t1"}}}
    found = Record({"name": "main"}, init=False, status=before)
    assert found.ended is not None
    assert (found.ended["exitCode"], found.ended["reason"], found.restarts) == (137, "ContainerStatusUnknown", 2)


@pytest.mark.parametrize(("code", "wanted"), [(0, 0), (3, 3), (-9, 137), (-15, 143)])
def test_exit_codes(code: int, wanted: int) -> None:
    assert exit_code(code) == wanted
