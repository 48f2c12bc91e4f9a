"""The proxy in a head pod: only one answer is good, and one that never answers is asked less and less."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from manta_common.clock import SystemClock
from manta_common.keys import Key
from manta_dashboard_gateway.credentials import Credentials
from manta_dashboard_gateway.pace import Pace
from manta_dashboard_gateway.places import Target
from manta_dashboard_gateway.ray.proxy import Asking, HeadProxy
from manta_dashboard_gateway.ray.transport import Answer, Failure, Request, Transport
from tests.parts.gateway_world import Secrets
from tests.parts.ports import free_ports
from tests.parts.stub_dashboard import StubDashboard
from tests.parts.stub_faults import Fail, Fault, Hang, Say

APPLICATIONS = {"applications": [{"name": "a", "import_path": "m:a"}]}


class Asked:
    """A proxy, and what came of the questions."""

    def __init__(self, transport: Transport, address: str) -> None:
        self.outcomes: Counter[tuple[str, str]] = Counter()
        where = Target(cluster=Key("default", "ray"), uid="u", address=address, host="10.0.0.7:8000", pod="ray-head")
        self.proxy = HeadProxy(where, Asking(transport, Pace(), SystemClock(), self._tell, 0.3))

    def _tell(self, call: str, outcome: str, _: float) -> None:
        self.outcomes[call, outcome] += 1


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    transport = Transport(Credentials(Secrets(), SystemClock().monotonic), None)
    yield transport
    await transport.close()


@pytest.fixture
def asked(transport: Transport, stub_dashboard: StubDashboard) -> Asked:
    stub_dashboard.serve_config = APPLICATIONS
    return Asked(transport, stub_dashboard.dashboard_url.removeprefix("http://"))


async def test_a_proxy_that_is_well(asked: Asked, stub_dashboard: StubDashboard) -> None:
    stub_dashboard.token = "sesame"  # of the dashboard: a proxy wants none
    stub_dashboard.misbehave(Say(b"success"), call="GET /-/healthz")
    assert await asked.proxy.problem() == ""
    assert (asked.outcomes, stub_dashboard.hosts) == ({("health", "ok"): 1}, {"10.0.0.7:8000"})


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        pytest.param(Fail(503, "draining"), "the pod ray-head answered 503: draining", id="draining"),
        pytest.param(Say(b"", status=503), "the pod ray-head answered 503: (nothing)", id="an error without words"),
        pytest.param(Say(b"", status=204), "it answered 204", id="almost the right answer"),
        pytest.param(Say(b"", status=302, headers={"Location": "/"}), "elsewhere", id="somebody else's port"),
    ],
)
async def test_any_other_answer_is_none(
    asked: Asked, stub_dashboard: StubDashboard, fault: Fault, problem: str
) -> None:
    stub_dashboard.misbehave(fault)
    assert problem in await asked.proxy.problem()
    assert (asked.proxy.is_due, asked.proxy.course.failures) == (True, 0)


class Speechless(Transport):
    """Fails without a word, and without a connection."""

    def __init__(self) -> None:
        pass

    async def send(self, target: Target, request: Request, *, wary: bool = False) -> Answer:
        raise Failure(503, "", "text/plain", said="")


async def test_a_failure_without_a_word_is_none_that_is_well() -> None:
    asked = Asked(Speechless(), "127.0.0.1:1")
    assert await asked.proxy.problem() == "Failure"
    assert asked.outcomes == {("health", "unreachable"): 1}


async def test_one_that_refuses_costs_nothing(transport: Transport) -> None:
    [port] = free_ports(1)
    asked = Asked(transport, f"127.0.0.1:{port}")
    for _ in range(3):
        assert await asked.proxy.problem()
    assert (asked.proxy.is_due, asked.outcomes) == (True, {("health", "unreachable"): 3})


async def test_one_that_never_answers_is_asked_less_often(asked: Asked, stub_dashboard: StubDashboard) -> None:
    stub_dashboard.misbehave(Hang())
    assert "no answer in time" in await asked.proxy.problem()
    assert (asked.proxy.is_due, asked.proxy.course.failures) == (False, 1)
    stub_dashboard.behave()
    assert await asked.proxy.problem() == ""
    assert (asked.proxy.is_due, asked.proxy.course.failures) == (True, 0)
