"""One request to a dashboard, whatever it answers: a typed error, in time, and nothing left behind."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Iterator

import pytest
import trustme

from manta_common.clock import SystemClock
from manta_common.dashboard.calls import Submission
from manta_common.errors import AlreadyExists, MantaError, NotFound, Refused, Unreachable
from manta_common.keys import Key
from manta_dashboard_gateway.credentials import Credentials, Unauthorised
from manta_dashboard_gateway.pace import Pace
from manta_dashboard_gateway.places import Target
from manta_dashboard_gateway.ray import api
from manta_dashboard_gateway.ray.dashboard import Dashboard
from manta_dashboard_gateway.ray.lanes import Limits
from manta_dashboard_gateway.ray.transport import TooLarge, Transport
from tests.parts.gateway_world import Secrets
from tests.parts.ports import free_ports
from tests.parts.stub_dashboard import StubDashboard
from tests.parts.stub_faults import Cut, Drip, Fail, Fault, Flood, Hang, Say
from tests.parts.stub_jobs import JobScript

LIMIT_SECONDS = 0.4
HOST = "ray-head-svc.default.svc.cluster.local:8265"
LONG = JobScript(seconds=3600)
TEXT = {"Content-Type": "text/plain"}
HTML = {"Content-Type": "text/html"}
JSON = {"Content-Type": "application/json"}


def target(address: str, **changes: str) -> Target:
    return Target(cluster=Key("default", "ray"), uid="u", address=address, host=HOST, **changes)


def dashboard(transport: Transport, where: Target) -> Dashboard:
    return Dashboard(where, transport, pace=Pace(), clock=SystemClock(), tell=lambda *_: None)


@pytest.fixture
def secrets() -> Secrets:
    return Secrets()


@pytest.fixture
async def transport(secrets: Secrets) -> AsyncIterator[Transport]:
    """A transport that leaves no task and no connection behind."""
    transport = Transport(Credentials(secrets, SystemClock().monotonic), None, Limits(connect_seconds=0.3))
    yield transport
    await transport.close()
    assert transport.connections == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.fixture
def stub(stub_dashboard: StubDashboard) -> StubDashboard:
    stub_dashboard.add(1, LONG)
    return stub_dashboard


@pytest.fixture
def ray(transport: Transport, stub: StubDashboard) -> Dashboard:
    return dashboard(transport, target(stub.dashboard_url.removeprefix("http://")))


async def ask(ray: Dashboard, job_id: str = "job-000000") -> str:
    return (await api.job(ray.command, job_id, LIMIT_SECONDS)).status


@pytest.mark.parametrize(
    ("fault", "expected", "text"),
    [
        pytest.param(Hang(), Unreachable, "no answer in time", id="hung"),
        pytest.param(Drip(0.2), Unreachable, "no answer in time", id="dripping"),
        pytest.param(Cut(5), Unreachable, "payload", id="cut off"),
        pytest.param(Flood(), TooLarge, "larger than 10000000 bytes", id="endless"),
        pytest.param(Say(b"hello", headers=TEXT), Unreachable, "not what Ray would say", id="not JSON"),
        pytest.param(Say(b'{"status": "RUN'), Unreachable, "not what Ray would say", id="truncated JSON"),
        pytest.param(Say(b'{"status": []}'), Unreachable, "not what Ray would say", id="wrong types"),
        pytest.param(Say(b"<html><b>no</b>", 500, HTML), Refused, "500: <html><b>no</b>", id="500 with HTML"),
        pytest.param(Say(b"", 503, HTML), Refused, r"503: \(nothing\)", id="503 with nothing"),
        pytest.param(
            Say(b"", 302, {"Location": "http://169.254.169.254/"}), Unreachable, "go elsewhere", id="redirect off host"
        ),
        pytest.param(Say(b"", 307, {"Location": "/api/version"}), Unreachable, "go elsewhere", id="redirect on host"),
        pytest.param(
            Say(gzip.compress(b" " * 20_000_000), headers={**JSON, "Content-Encoding": "gzip"}),
            Unreachable,
            "packed",
            id="a gzip bomb",
        ),
        pytest.param(Say(b"no such page", 404, HTML), Refused, "404", id="a 404 that is not Ray's"),
        pytest.param(Say(b"Job x does not exist", 404, TEXT), NotFound, "does not exist", id="no such job"),
        pytest.param(Fail(401, "Unauthorized"), Unauthorised, "401: Unauthorized", id="unauthorised"),
        pytest.param(Fail(403, "Forbidden"), Unauthorised, "403: Forbidden", id="forbidden"),
        pytest.param(
            Fail(500, "Traceback\n  File x\nRuntimeError: boom\n.\n"),
            Refused,
            "500: RuntimeError: boom",
            id="a traceback",
        ),
    ],
)
async def test_whatever_it_answers_is_a_typed_error_and_the_next_answer_counts(
    stub: StubDashboard, ray: Dashboard, fault: Fault, expected: type[MantaError], text: str
) -> None:
    stub.misbehave(fault)
    with pytest.raises(expected, match=text):
        await ask(ray)
    stub.behave()
    assert await ask(ray) == "RUNNING"
    assert ray.course.failures == 0


async def test_a_port_that_nobody_listens_on_is_unreachable(transport: Transport) -> None:
    [port] = free_ports(1)
    ray = dashboard(transport, target(f"127.0.0.1:{port}"))
    with pytest.raises(Unreachable, match="Connect"):
        await ask(ray)
    assert (ray.course.failures, ray.breaker) == (1, "closed")


async def test_a_name_that_nobody_has_is_unreachable(transport: Transport) -> None:
    with pytest.raises(Unreachable):
        await ask(dashboard(transport, target("nobody.invalid:8265")))


async def test_bytes_that_are_no_http_are_unreachable(transport: Transport) -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\xff" * 10_000)
        writer.close()

    async with await asyncio.start_server(babble, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unreachable):
            await ask(dashboard(transport, target(f"127.0.0.1:{port}")))


async def test_one_connection_serves_many_requests(stub: StubDashboard, ray: Dashboard, transport: Transport) -> None:
    for _ in range(20):
        assert await ask(ray) == "RUNNING"
    assert (stub.connections, transport.connections) == (1, 1)


async def test_it_is_called_by_its_name_wherever_it_is(stub: StubDashboard, ray: Dashboard) -> None:
    await ask(ray)
    assert stub.hosts == {HOST}


async def test_ipv6(transport: Transport) -> None:
    stub = StubDashboard.start("::1")
    try:
        [name] = stub.add(1, LONG)
        assert await ask(dashboard(transport, target(stub.dashboard_url.removeprefix("http://"))), name) == "RUNNING"
    finally:
        stub.stop()


@pytest.mark.parametrize("job_id", ["jöb ☕", "a/b", "a?b#c", "%2e%2e", "-"])
async def test_an_id_may_be_any_text(stub: StubDashboard, ray: Dashboard, job_id: str) -> None:
    submission = Submission(cluster=Key("default", "ray"), job_id=job_id, entrypoint="echo ☕", limit_seconds=5)
    assert (await api.submit(ray.command, submission)).job_id == job_id
    found = await api.job(ray.command, job_id, 5)
    assert (found.job_id, found.entrypoint) == (job_id, "echo ☕")
    assert "☕" in (await api.log(ray.command, job_id, 5, start=0, tail=100)).text


@pytest.mark.parametrize("job_id", ["", ".", ".."])
async def test_an_id_must_not_lead_elsewhere(stub: StubDashboard, ray: Dashboard, job_id: str) -> None:
    with pytest.raises(Refused, match="cannot be a job id"):
        await api.job(ray.command, job_id, LIMIT_SECONDS)
    assert not stub.calls


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fail(409, "taken"), id="409"),
        pytest.param(Fail(400, "Job with submission_id x already exists."), id="400"),
        pytest.param(Fail(500, "Please use a different submission_id."), id="500"),
    ],
)
async def test_a_taken_id_is_success_when_it_is_the_same_job(stub: StubDashboard, ray: Dashboard, fault: Fail) -> None:
    [name] = stub.add(1, LONG)
    stub.misbehave(fault, call="POST /api/jobs/")
    same = Submission(cluster=Key("default", "ray"), job_id=name, entrypoint=f"python {name}.py")
    assert (await api.submit(ray.command, same)).existed
    for other in ("python other.py", ""):
        with pytest.raises(AlreadyExists, match="another job"):
            await api.submit(ray.command, Submission(cluster=same.cluster, job_id=name, entrypoint=other))


async def test_the_end_of_a_log_that_is_too_long(stub: StubDashboard, ray: Dashboard) -> None:
    [name] = stub.add(1, JobScript(output="\n".join([*["x" * 1000] * 25_000, "the end ☕"])))
    found = await api.log(ray.command, name, 30, start=0, tail=12)
    assert (found.text, found.start) == ("xx\nthe end ☕", -1)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param((0, 1000), ("0123456789", 0), id="all"),
        pytest.param((4, 1000), ("456789", 4), id="from a character on"),
        pytest.param((0, 3), ("789", 7), id="the end"),
        pytest.param((4, 3), ("789", 7), id="the end of the rest"),
        pytest.param((8, 3), ("89", 8), id="a rest that is short"),
        pytest.param((50, 3), ("", 10), id="beyond the end"),
        pytest.param((-5, 1000), ("0123456789", 0), id="before the beginning"),
        pytest.param((0, 0), ("", 10), id="nothing"),
    ],
)
async def test_a_range_of_a_log(
    stub: StubDashboard, ray: Dashboard, wanted: tuple[int, int], expected: tuple[str, int]
) -> None:
    stub.misbehave(Say(b'{"logs": "0123456789"}'))
    found = await api.log(ray.command, "job-000000", LIMIT_SECONDS, start=wanted[0], tail=wanted[1])
    assert (found.text, found.start) == expected


@pytest.fixture
def guarded(transport: Transport, stub: StubDashboard) -> Dashboard:
    stub.token = "sesame"
    return dashboard(transport, target(stub.dashboard_url.removeprefix("http://"), token_secret="ray"))


async def test_a_token_is_read_once_and_sent(stub: StubDashboard, guarded: Dashboard, secrets: Secrets) -> None:
    secrets.put("ray", "1", auth_token="sesame\n")
    for _ in range(3):
        assert await ask(guarded) == "RUNNING"
    assert secrets.reads == 1


async def test_a_token_that_was_changed_is_read_again(
    stub: StubDashboard, guarded: Dashboard, secrets: Secrets
) -> None:
    secrets.put("ray", "1", auth_token="old")
    with pytest.raises(Unauthorised):
        await ask(guarded)
    assert (secrets.reads, stub.calls.total()) == (2, 1)  # the same token is not tried twice
    secrets.put("ray", "2", auth_token="sesame")
    assert await ask(guarded) == "RUNNING"
    assert secrets.reads == 3


@pytest.mark.parametrize("values", [None, {}, {"auth_token": ""}, {"token": "sesame"}])
async def test_without_a_token_nobody_is_asked(
    stub: StubDashboard, guarded: Dashboard, secrets: Secrets, values: dict[str, str] | None
) -> None:
    if values is not None:
        secrets.put("ray", "1", **values)
    with pytest.raises(Unauthorised, match="Secret default/ray"):
        await ask(guarded)
    assert not stub.calls


async def test_a_token_is_shown_nowhere(
    stub: StubDashboard, guarded: Dashboard, secrets: Secrets, caplog: pytest.LogCaptureFixture
) -> None:
    secrets.put("ray", "1", auth_token="hunter2")
    stub.misbehave(Fail(403, "Forbidden: hunter2 is no token of mine"))
    with caplog.at_level(0), pytest.raises(Unauthorised, match=r"\*\*\* is no token of mine") as refused:
        await ask(guarded)
    assert "hunter2" not in f"{refused.value!r} {guarded.last_error} {caplog.text}"


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def safe(authority: trustme.CA) -> Iterator[StubDashboard]:
    """A dashboard behind TLS that wants a certificate of its cluster's CA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST.rpartition(":")[0]).configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    stub = StubDashboard.start(tls=context)
    stub.add(1, LONG)
    yield stub
    stub.stop()


def put_certificates(secrets: Secrets, version: str, authority: trustme.CA) -> None:
    leaf = authority.issue_cert("localhost")
    secrets.put(
        "ray-worker-secret-ray",
        version,
        ca_crt=authority.cert_pem.bytes(),
        tls_crt=leaf.cert_chain_pems[0].bytes(),
        tls_key=leaf.private_key_pem.bytes(),
    )


async def test_tls_with_the_clusters_own_authority(
    safe: StubDashboard, transport: Transport, secrets: Secrets, authority: trustme.CA
) -> None:
    put_certificates(secrets, "1", authority)
    where = target(safe.dashboard_url.removeprefix("https://"), tls_secret="ray-worker-secret-ray")
    assert await ask(dashboard(transport, where)) == "RUNNING"


async def test_another_authority_is_not_trusted(safe: StubDashboard, transport: Transport, secrets: Secrets) -> None:
    put_certificates(secrets, "1", trustme.CA())
    where = target(safe.dashboard_url.removeprefix("https://"), tls_secret="ray-worker-secret-ray")
    with pytest.raises(Unreachable, match="certificate"):
        await ask(dashboard(transport, where))
    assert not safe.calls


async def test_certificates_that_are_none_are_told(transport: Transport, secrets: Secrets) -> None:
    secrets.put("ray-worker-secret-ray", "1", ca_crt="x", tls_crt="y", tls_key="z")
    with pytest.raises(Unauthorised, match="certificates in the Secret default/ray-worker-secret-ray"):
        await ask(dashboard(transport, target("127.0.0.1:1", tls_secret="ray-worker-secret-ray")))
