"""How soon something may change on a followed cluster: quick looks only until Serve runs what it was told."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from manta_common.clock import SystemClock
from manta_common.dashboard.reports import ApplicationReport, ProxyReport, ServeReport, Trouble
from manta_common.keys import Key
from manta_dashboard_gateway.credentials import Credentials
from manta_dashboard_gateway.follow import NEW_FOR, Followed, FollowedJob, Serving
from manta_dashboard_gateway.pace import Pace, State
from manta_dashboard_gateway.places import Target
from manta_dashboard_gateway.poll import SURE_AFTER_SECONDS, Poll
from manta_dashboard_gateway.ray.dashboard import Dashboard
from manta_dashboard_gateway.ray.proxy import Asking, HeadProxy
from manta_dashboard_gateway.ray.transport import Transport
from manta_dashboard_gateway.rounds import Limits, Rounds
from tests.parts.gateway_world import Secrets

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RAY = Key("default", "ray")
WHERE = Target(cluster=RAY, uid="ray-uid", address="127.0.0.1:1", host="ray:8265", pod="ray-head")
JOB = FollowedJob(Key("default", "job"), "job-uid", "id")
SERVING = Followed(serve=Serving(config="one"))
SURE, LATE = SURE_AFTER_SECONDS + 0.1, NEW_FOR.total_seconds() + 1
WELL = ProxyReport(pod="ray-head", address="10.0.0.7:8000", healthy=True, since=NOW)
ILL = ProxyReport(pod="ray-head", address="10.0.0.7:8000", healthy=False, since=NOW)


def report(*statuses: str, proxy: ProxyReport | None = WELL, silent: bool = False) -> ServeReport:
    return ServeReport(
        cluster_uid="ray-uid",
        asked_at=NOW,
        applications={f"app-{number}": ApplicationReport(status=status) for number, status in enumerate(statuses)},
        proxy=proxy,
        trouble=Trouble(kind="unreachable", since=NOW) if silent else None,
    )


@pytest.fixture
async def poll() -> AsyncIterator[Poll]:
    """A cluster of a RayService; it was told nothing yet."""
    clock = SystemClock()
    transport = Transport(Credentials(Secrets(), clock.monotonic), None)
    dashboard = Dashboard(WHERE, transport, pace=Pace(), clock=clock, tell=lambda *_: None)
    found = Poll(dashboard, Rounds(dashboard, Limits(), now=lambda: NOW), partition=0, due_at=0)
    found.follow(SERVING, HeadProxy(WHERE, Asking(transport, Pace(), clock, lambda *_: None)), 0)
    yield found
    await transport.close()


@pytest.mark.parametrize(
    ("said", "state"),
    [
        pytest.param(None, "new", id="nothing was heard yet"),
        pytest.param(report(silent=True), "new", id="the dashboard does not answer yet"),
        pytest.param(report(proxy=ILL), "moving", id="it was told nothing yet"),
        pytest.param(report("DEPLOYING"), "new", id="somebody else has told it"),
        pytest.param(report("RUNNING", proxy=ILL), "new", id="the proxy is still to come"),
        pytest.param(report("RUNNING"), "usual", id="all runs"),
    ],
)
async def test_a_head_that_is_new(poll: Poll, said: ServeReport | None, state: State) -> None:
    poll.serve = said
    assert poll.state(0, new=True) == state


@pytest.mark.parametrize(
    ("said", "after", "state"),
    [
        pytest.param(report("RUNNING"), 0.1, "new", id="what runs may be what ran before"),
        pytest.param(report("RUNNING"), SURE, "usual", id="all runs"),
        pytest.param(report("RUNNING", proxy=ILL), SURE, "new", id="the proxy does not answer yet"),
        pytest.param(report("RUNNING", "DEPLOYING"), SURE, "new", id="one is being deployed"),
        pytest.param(report("RUNNING", "UNHEALTHY"), SURE, "new", id="one is not well"),
        pytest.param(report(), SURE, "new", id="it does not show it yet"),
        pytest.param(report(silent=True), SURE, "new", id="it does not answer"),
        pytest.param(report("RUNNING", "DEPLOYING"), LATE, "moving", id="one is deployed for long"),
        pytest.param(report("RUNNING", "UNHEALTHY"), LATE, "usual", id="one has not been well for long"),
        pytest.param(report(), LATE, "usual", id="it shows nothing for long"),
    ],
)
async def test_serve_that_was_told_what_to_run(poll: Poll, said: ServeReport, after: float, state: State) -> None:
    poll.hurry(0)
    poll.serve = said
    assert poll.state(after, new=False) == state


async def test_what_runs_on_a_head_that_ran_nothing_is_what_it_was_told(poll: Poll) -> None:
    poll.learn_serve(report())
    poll.hurry(0)
    poll.learn_serve(report("RUNNING"))
    assert poll.state(0.1, new=True) == "usual"


async def test_a_head_that_turns_out_to_have_run_nothing_when_it_was_told(poll: Poll) -> None:
    poll.hurry(0)
    poll.learn_serve(report())
    assert poll.state(0.1, new=True) == "new"
    poll.learn_serve(report("RUNNING"))
    assert poll.state(0.1, new=True) == "usual"


@pytest.mark.parametrize("before", [report("RUNNING"), report(silent=True)], ids=["it ran something", "nobody knows"])
async def test_what_runs_may_be_what_ran_before(poll: Poll, before: ServeReport) -> None:
    poll.learn_serve(before)
    poll.hurry(0)
    poll.learn_serve(report("RUNNING"))
    assert poll.state(0.1, new=False) == "new"


async def test_a_proxy_that_nobody_wants_to_know_of_holds_up_nothing(poll: Poll) -> None:
    poll.follow(Followed(serve=Serving(config="one", proxy=False)), None, 0)
    poll.serve = report("RUNNING", proxy=None)
    assert poll.state(0, new=True) == "usual"


async def test_a_job_that_is_new_is_asked_for_often_beside_serve(poll: Poll) -> None:
    poll.follow(Followed(serve=SERVING.serve, jobs=(JOB,)), None, 0)
    poll.serve = report("RUNNING")
    assert [poll.state(SURE, new=new) for new in (True, False)] == ["new", "usual"]


async def test_another_configuration_is_looked_at_at_once_and_often(poll: Poll) -> None:
    poll.serve, poll.due_at = report("RUNNING"), 1000
    poll.follow(Followed(serve=Serving(config="two")), poll.proxy, 10)
    assert (poll.due_at, poll.state(10.1, new=False)) == (10, "new")


async def test_a_head_that_becomes_ready_is_looked_at_at_once(poll: Poll) -> None:
    poll.follow(Followed(serve=Serving(config="one", ready=False)), poll.proxy, 0)
    poll.serve, poll.due_at = report(), 1000
    poll.follow(SERVING, poll.proxy, 10)
    assert (poll.due_at, poll.state(10.1, new=True)) == (10, "moving")
