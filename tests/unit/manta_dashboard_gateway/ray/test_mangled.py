"""Whatever a dashboard sends, it is an answer of Ray's or a typed error: in time, in bounds, and others are served."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given

from manta_common.bus.channel import State
from manta_common.clock import SystemClock
from manta_common.dashboard.calls import Applications, Submission
from manta_common.dashboard.reports import JOB_INFO, SERVE_INFO, is_same
from manta_common.errors import MantaError, Unreachable
from manta_common.keys import Key
from manta_dashboard_gateway.credentials import Credentials
from manta_dashboard_gateway.follow import FollowedJob
from manta_dashboard_gateway.pace import Pace
from manta_dashboard_gateway.places import Target
from manta_dashboard_gateway.ray import answers, api
from manta_dashboard_gateway.ray.dashboard import Dashboard
from manta_dashboard_gateway.ray.lanes import Limits
from manta_dashboard_gateway.ray.proxy import Asking, HeadProxy
from manta_dashboard_gateway.ray.transport import Answer, TooLarge, Transport
from manta_dashboard_gateway.sayings import Said, job_report, serve_report
from tests.parts.gateway_world import Secrets
from tests.parts.mangling import HUGE, SEEDS, encoded, examples, mangled, sample

KEY = Key("default", "ray")
JOB = FollowedJob(KEY, "u", "job")
NOW = datetime(2026, 1, 2, tzinfo=UTC)
# What Ray sends, with every field that we read.
ONE, SERVE = sample(answers.Job), sample(answers.Serve)
TAKEN = encoded(sample(answers.Taken))
PAGES = {
    "/api/jobs/": encoded([ONE, ONE]),
    "/api/jobs/job": encoded(ONE),
    "/api/jobs/job/logs": encoded(sample(answers.Logs)),
    "/api/jobs/job/stop": b'{"stopped": true}',
    "/api/serve/applications/": encoded(SERVE),
    "/api/version": encoded(sample(answers.RayVersion)),
    "/-/healthz": b"success",
}


def said_of_job(body: bytes) -> None:
    """What a poll makes of one job: read, reported, written, read back, compared."""
    report = job_report(JOB, "c", Said(asked_at=NOW, details=answers.job(body, "job")), None)
    back = JOB_INFO.decode(JOB_INFO.encode(State(key=KEY, uid="u", version="1", object=report))).object
    assert back is not None
    assert is_same(back, report)


def said_of_jobs(body: bytes) -> None:
    for details in answers.jobs(body).values():
        job_report(JOB, "c", Said(asked_at=NOW, details=details), None)


def said_of_serve(body: bytes) -> None:
    found: Applications = answers.applications(body)
    report = serve_report("c", Said(asked_at=NOW, applications=found), None)
    back = SERVE_INFO.decode(SERVE_INFO.encode(State(key=KEY, uid="u", version="1", object=report))).object
    assert back is not None
    assert is_same(back, report)


def said_in_log(body: bytes) -> None:
    for cut in (True, False):
        with suppress(Unreachable):
            api._log(Answer(body, cut), 0, 100).text.encode()


READERS: dict[str, tuple[bytes, Callable[[bytes], object]]] = {
    "job": (PAGES["/api/jobs/job"], said_of_job),
    "jobs": (PAGES["/api/jobs/"], said_of_jobs),
    "applications": (PAGES["/api/serve/applications/"], said_of_serve),
    "version": (PAGES["/api/version"], answers.version),
    "log": (PAGES["/api/jobs/job/logs"], said_in_log),
    "submission": (TAKEN, lambda body: answers.read(body, answers.Taken)),
}


@pytest.mark.parametrize("reader", READERS)
@examples(300)
@given(seed=SEEDS)
def test_an_answer_is_read_or_counts_as_none(reader: str, seed: int) -> None:
    good, read = READERS[reader]
    read(good)
    with suppress(Unreachable):
        read(mangled(good, seed))


@pytest.mark.parametrize(
    ("page", "read"),
    [
        pytest.param(b"[" + b"1," * 4_000_000 + b"1]", answers.jobs, id="jobs that are numbers"),
        pytest.param(b'[{"status":"x","metadata":{"a":[' + b"{}," * 3_000_000 + b"{}]}}]", answers.jobs, id="metadata"),
        pytest.param(b'{"applications":{"a":' + b"[" * 1000 + b"]" * 1000 + b"}}", answers.applications, id="deep"),
        pytest.param(
            b'{"applications":{"a":{"status":"RUNNING","deployed_app_config":{"x":' + b"[" * 900 + b"]" * 900 + b"}}}}",
            answers.applications,
            id="a config that is too deep to be compared",
        ),
    ],
)
def test_an_answer_that_would_fill_the_memory_is_not_read(page: bytes, read: Callable[[bytes], object]) -> None:
    with pytest.raises(Unreachable):
        read(page)


def test_a_job_that_cannot_be_read_does_not_hide_the_others() -> None:
    good = b'{"status":"RUNNING","submission_id":"a"}'
    bad = [b'{"status":7}', b'{"status":"\xff"}', b"[]", b'{"status":"x","driver_exit_code":%d}' % HUGE]
    assert answers.jobs(b"[" + b",".join([*bad, good]) + b"]").keys() == {"a"}


def test_a_word_of_any_length_is_told_in_part() -> None:
    found = answers.job(encoded({**ONE, "status": "x" * 1_000_000, "error_type": "y" * 1_000_000}), "job")
    assert len(found.status) == len(found.error_type) == answers.WORD_CHARACTERS


def test_numbers_of_any_size_in_a_config_are_told() -> None:
    told = {"status": "RUNNING", "deployed_app_config": {"seed": HUGE, "name": "ä"}}
    found = answers.applications(encoded({"applications": {"a": told}}))
    report = serve_report("c", Said(asked_at=NOW, applications=found), None)
    back = SERVE_INFO.decode(SERVE_INFO.encode(State(key=KEY, uid="u", version="1", object=report)))
    assert back.object == report


class Wire:
    """A server that says what it was told, byte by byte; its other pages are Ray's."""

    def __init__(self) -> None:
        self.says: bytes | None = None
        self.endless = False

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
                while self.endless:
                    writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
                    await writer.drain()
                if self.says is not None:
                    break
        writer.close()

    def _answer(self, head: bytes) -> bytes:
        if self.says is not None:
            return self.says
        method, path, *_ = head.decode().split(" ")
        if path == "/api/jobs/new":
            return b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno"
        return page(TAKEN if (method, path) == ("POST", "/api/jobs/") else PAGES[path.partition("?")[0]])


def page(body: bytes, *headers: bytes, status: bytes = b"200 OK", length: bool = True) -> bytes:
    """An answer in HTTP."""
    own = [b"Content-Type: application/json", *([b"Content-Length: %d" % len(body)] if length else [])]
    return b"\r\n".join([b"HTTP/1.1 " + status, *own, *headers, b"", body])


@asynccontextmanager
async def wired(wire: Wire) -> AsyncIterator[tuple[Dashboard, HeadProxy, Transport]]:
    """A dashboard and a proxy at the end of a wire."""
    server = await asyncio.start_server(wire, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    transport = Transport(Credentials(Secrets(), SystemClock().monotonic), None, Limits(connect_seconds=5))
    target = Target(cluster=KEY, uid="u", address=f"{host}:{port}", host="ray:8265")
    asking = Asking(transport, Pace(), SystemClock(), lambda *_: None, 5.0)
    dashboard = Dashboard(target, transport, pace=Pace(), clock=SystemClock(), tell=lambda *_: None)
    try:
        yield dashboard, HeadProxy(target, asking), transport
    finally:
        await transport.close()
        server.close()
    assert transport.connections == 0


ASKED: dict[str, Callable[[Dashboard, float], Any]] = {
    "job": lambda ray, limit: api.job(ray.command, "job", limit),
    "jobs": lambda ray, limit: api.jobs(ray.command, limit),
    "stop": lambda ray, limit: api.stop(ray.command, "job", limit),
    "log": lambda ray, limit: api.log(ray.command, "job", limit, start=0, tail=100),
    "applications": lambda ray, limit: api.applications(ray.command, limit),
    "version": lambda ray, limit: api.version(ray.command, limit),
    "submit": lambda ray, limit: api.submit(
        ray.command, Submission(cluster=KEY, job_id="new", entrypoint="x", limit_seconds=limit)
    ),
}
HEADERS = [
    b"Content-Type: \xff/\xfe; charset=klingon",
    b"Content-Type:",
    b"Content-Length: 99999999999999999999999",
    b"Content-Length: -1",
    b"Content-Length: 1\r\nContent-Length: 2",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: chunked\r\nContent-Length: 3",
    b"Content-Encoding: br",
    b"Connection: upgrade\r\nUpgrade: websocket",
    b"Location: http://[::1",
    b"Set-Cookie: \x01=\xff; Expires=never",
    b"Set-Cookie: a=b; Max-Age=" + b"9" * 400,
    b"X: " + b"y" * 100_000,
    b"\r\n".join(b"A%d: b" % n for n in range(5000)),
    b"no colon",
    b": no name",
    b" folded",
    b"N\xc3\xa4me: \x00",
    b"Retry-After: soon",
    b"WWW-Authenticate: Basic realm=\xff",
]
STATUSES = [
    b"200 OK",
    b"204 No Content",
    b"206 Partial Content",
    b"301 Moved",
    b"304 Not Modified",
    b"401 No",
    b"404 No",
    b"408 Late",
    b"500 No",
    b"100 Continue",
    b"101 Switching Protocols",
    b"103 Early Hints",
    b"999 Odd",
    b"20 Short",
    b"2000 Long",
    b"-1 No",
    b"\xff\xff",
    b"",
    b"200",
]
CHUNKS = [
    b"5\r\nhello\r\n0\r\n\r\n",
    b"zz\r\n",
    b"-5\r\n",
    b"ffffffffffffffffffff\r\n",
    b"5;" + b"x" * 20_000,
    b"0\r\n" + b"T: x\r\n" * 5000,
]


def spoken(chance: random.Random) -> bytes:
    """An answer in something like HTTP."""
    good = chance.choice([*PAGES.values()])
    body = chance.choice([good, mangled(good, chance.getrandbits(48)), *CHUNKS, b""])
    whole = page(
        body,
        *chance.sample(HEADERS, chance.choice([0, 1, 1, 2, 4])),
        status=chance.choice([STATUSES[0], chance.choice(STATUSES)]),
        length=chance.random() < 0.5,
    )
    return mangled(whole, chance.getrandbits(48)) if chance.random() < 0.4 else whole


@examples(8)
@given(seed=SEEDS)
def test_whatever_comes_over_the_wire_is_an_answer_or_a_typed_error(seed: int) -> None:
    async def play() -> None:
        chance, wire = random.Random(seed), Wire()
        async with wired(wire) as (ray, proxy, transport):
            for _ in range(25):
                wire.says = spoken(chance)
                with suppress(MantaError):
                    await chance.choice([*ASKED.values()])(ray, 10.0)
                await proxy.problem()
                assert transport.connections <= 2
            wire.says = None
            for ask in ASKED.values():
                await ask(ray, 60.0)
            assert await proxy.problem() == ""
            assert ray.course.failures == 0

    asyncio.run(play())


@pytest.mark.parametrize("status", [b"200 OK", b"500 No", b"404 No", b"302 Found", b"401 No"], ids=bytes.decode)
def test_a_body_without_an_end_is_given_up(status: bytes) -> None:
    async def play() -> None:
        wire = Wire()
        async with wired(wire) as (ray, _, transport):
            wire.says, wire.endless = page(b"", b"Transfer-Encoding: chunked", status=status, length=False), True
            with pytest.raises(MantaError):
                await api.jobs(ray.command, 60.0)
            assert transport.connections == 0

    asyncio.run(play())


def test_an_answer_that_is_too_large_to_read_is_asked_for_in_pieces() -> None:
    assert issubclass(TooLarge, Unreachable)
    with pytest.raises(TooLarge, match="parts"):
        answers.jobs(b"[" + b"{}," * answers.MOST_PARTS + b"{}]")


def test_a_struct_of_ray_is_sampled_whole() -> None:
    assert msgspec.convert(ONE, answers.Job).driver_exit_code == 1
    assert [*msgspec.convert(SERVE, answers.Serve).applications] == ["name"]
