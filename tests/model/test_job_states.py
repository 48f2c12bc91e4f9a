"""Every state of a RayJob and every event: where it leads, and that there is a way out of each that is no end."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from manta_common.api.rayjob import RayJobStatus
from manta_common.deeds import Recheck
from manta_job_reconciler.actions import Confirm, Submit, WriteStatus
from manta_job_reconciler.decide import decide
from manta_job_reconciler.observed import JobSettings, Observed
from manta_job_reconciler.status import completed
from tests.unit.manta_job_reconciler.made import (
    NOW,
    URL,
    ago,
    cluster,
    head,
    job,
    observed,
    report,
    service,
    status,
    submitter,
)

SETTINGS = JobSettings()
Event = Callable[[Observed], Observed]
SUSPENDABLE: dict[str, Any] = {"shutdownAfterJobFinishes": True}


def spec(about: Observed, **changes: Any) -> Observed:
    """The same with another spec."""
    return msgspec.structs.replace(
        about, job=msgspec.structs.replace(about.job, spec=msgspec.structs.replace(about.spec, **changes))
    )


def facts(about: Observed, **found: Any) -> Observed:
    """The same with other facts."""
    return msgspec.structs.replace(about, **found)


def in_state(state: str, mode: str) -> Observed:
    """A job in a state with all that it has in it."""
    begun = state not in {"", "Suspended"}
    ready = state not in {"", "Suspended", "Initializing"}
    said = status(
        state,
        job_id="demo-1" if begun and (mode != "InteractiveMode" or state != "Waiting") else "",
        ray_cluster_name="demo-c" if begun else "",
        dashboard_url=URL if ready else "",
        end_time=ago(1) if state in {"Complete", "Failed"} else None,
    )
    found: dict[str, Any] = {}
    if begun:
        found = {"cluster": cluster("ready" if ready else ""), "cluster_service": service("demo-c-head-svc")}
        found |= {"own_service": service("demo-head-svc"), "pods": (head(),)}
    if ready and mode == "K8sJobMode":
        found["submitter"] = submitter()
    about = observed(job(mode, **SUSPENDABLE, suspend=state == "Suspended"), said, **found)
    return about.after(completed(about, said, SETTINGS, NOW)) if state else about


def after(about: Observed, now: datetime = NOW) -> tuple[RayJobStatus, datetime | None]:
    """What the status says after a pass whose acts succeed, and when the job is looked at again."""
    acts = [action for phase in decide(about, SETTINGS, now) for action in phase]
    written = [action.status for action in acts if isinstance(action, WriteStatus)]
    again = [action.at for action in acts if isinstance(action, Recheck)]
    return (written[-1] if written else about.status), min(again, default=None)


def ends(name: str) -> Event:
    def event(about: Observed) -> Observed:
        done = submitter("Complete") if about.spec.submission_mode == "K8sJobMode" else None
        return facts(about, report=report(name), submitter=done, pods=(head(exit_code=0),))

    return event


EVENTS: dict[str, Event] = {
    "the spec becomes invalid": lambda about: spec(about, backoff_limit=-1),
    "it is suspended": lambda about: spec(about, suspend=True),
    "it is resumed": lambda about: spec(about, suspend=False),
    "a person names the job": lambda about: spec(about, job_id="mine"),
    "the cluster is ready": lambda about: facts(about, cluster=cluster("ready")),
    "the cluster is gone": lambda about: facts(about, cluster=None, pods=(), report=None),
    "all of it is gone": lambda about: facts(about, cluster=None, submitter=None, pods=(), report=None),
    "Ray succeeds": ends("SUCCEEDED"),
    "Ray stops": ends("STOPPED"),
    "Ray fails": ends("FAILED"),
    "the active deadline passes": lambda about: spec(about, active_deadline_seconds=5),
    "the deadline before running passes": lambda about: spec(about, pre_running_deadline_seconds=5),
    "the submitter fails": lambda about: facts(about, submitter=submitter("Failed"), pods=(head(exit_code=1),)),
    "the status check gives up": lambda about: about.after(
        msgspec.structs.replace(about.status, job_status_check_failure_start_time=ago(301))
    ),
}
MODES = ("HTTPMode", "K8sJobMode", "SidecarMode", "InteractiveMode")
STATES = (
    "",
    "Initializing",
    "Waiting",
    "Running",
    "Suspending",
    "Suspended",
    "Retrying",
    "Complete",
    "Failed",
    "ValidationFailed",
)
# Where an event may lead, by the contract; any state may also stay, and any may become invalid.
EDGES: dict[str, set[str]] = {
    "": {"Initializing"},
    "Initializing": {"Suspending", "Failed", "Waiting", "Running"},
    "Waiting": {"Running", "Failed"},
    "Running": {"Suspending", "Failed", "Complete"},
    "Suspending": {"Suspended"},
    "Suspended": {""},
    "Retrying": {""},
    "Complete": set(),
    "Failed": set(),
    "ValidationFailed": {"", "Initializing", "Waiting", "Running", "Complete", "Failed"},
}
SURE: dict[tuple[str, str], str] = {
    ("Initializing", "it is suspended"): "Suspending",
    ("Initializing", "the active deadline passes"): "Failed",
    ("Initializing", "the deadline before running passes"): "Failed",
    ("Running", "it is suspended"): "Suspending",
    ("Running", "Ray succeeds"): "Complete",
    ("Running", "Ray stops"): "Complete",
    ("Running", "Ray fails"): "Failed",
    ("Running", "the active deadline passes"): "Failed",
    ("Running", "the status check gives up"): "Failed",
    ("Suspending", "all of it is gone"): "Suspended",
    ("Retrying", "all of it is gone"): "",
    ("Suspended", "it is resumed"): "",
}
WALK = [(state, mode) for state in STATES for mode in MODES if state != "Waiting" or mode == "InteractiveMode"]


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(("state", "mode"), WALK)
def test_every_event_in_every_state_leads_where_it_may(state: str, mode: str, event: str) -> None:
    # Another attempt waits for a while; that is over by then.
    said, _ = after(EVENTS[event](in_state(state, mode)), NOW + timedelta(minutes=8 if state == "Retrying" else 0))
    found = said.job_deployment_status
    invalid = {"ValidationFailed"} if event == "the spec becomes invalid" else set()
    assert found in {state} | EDGES[state] | invalid
    if (state, event) in SURE:
        assert found == SURE[(state, event)]
    if invalid and state not in {"Suspending", "Retrying"}:
        assert found == "ValidationFailed"


@pytest.mark.parametrize(("state", "mode"), WALK)
def test_there_is_a_way_out_of_every_state_that_is_no_end(state: str, mode: str) -> None:
    """Nothing more happens: then a deadline comes, or a condition names what is waited for."""
    about = in_state(state, mode)
    for _ in range(10):
        said, again = after(about)
        if said == about.status:
            break
        about = about.after(said)
    else:
        pytest.fail("it never comes to rest")
    resting = about.status.job_deployment_status
    told = [condition.message for condition in about.status.conditions if condition.message]
    follows_ray = resting == "Running"  # the gateway always has something to say of it, if only that Ray is silent
    assert resting in {"Complete", "Failed"} or again or told or follows_ray or _is_acting(about)


def _is_acting(about: Observed) -> bool:
    """Whether something is being done that another pass will see the end of."""
    return any(phase for phase in decide(about, SETTINGS, NOW))


@pytest.mark.parametrize("mode", MODES)
def test_ray_that_is_never_heard_of_again_ends_a_running_job(mode: str) -> None:
    about = facts(in_state("Running", mode), report=report(trouble="unreachable", since=NOW))
    said, again = after(about)
    assert again == NOW + timedelta(seconds=300)
    said, _ = after(about.after(said), NOW + timedelta(seconds=300))
    assert (said.job_deployment_status, said.reason) == ("Failed", "JobStatusCheckTimeoutExceeded")


def test_a_submitter_that_ended_without_an_end_of_the_job_is_not_waited_for() -> None:
    about = facts(in_state("Running", "K8sJobMode"), submitter=submitter("Complete", ago(31)), report=report("RUNNING"))
    acts = [action for phase in decide(about, SETTINGS, NOW) for action in phase]
    (confirm,) = [action for action in acts if isinstance(action, Confirm)]
    assert confirm.otherwise.job_status_check_failure_start_time == NOW
    assert after(about)[0].reason == "JobDeploymentStatusTransitionGracePeriodExceeded"


def test_a_submission_that_never_succeeds_has_an_end() -> None:
    about = facts(in_state("Initializing", "HTTPMode"), cluster=cluster("ready"))
    acts = [action for phase in decide(about, SETTINGS, NOW) for action in phase]
    (submit,) = [action for action in acts if isinstance(action, Submit)]
    said, _ = after(about.after(submit.otherwise), NOW + timedelta(seconds=300))
    assert said.reason == "JobStatusCheckTimeoutExceeded"
