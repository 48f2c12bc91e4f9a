"""The stub dashboard does wrong what it is told to do wrong, and tells what it was asked."""

import asyncio
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.parts.eventually import eventually
from tests.parts.stub_dashboard import StubDashboard
from tests.parts.stub_faults import Delay, Drip, Fail, Hang
from tests.parts.stub_jobs import JobScript

PATIENCE_SECONDS = 0.3
LONG = JobScript(seconds=3600)


@pytest.fixture
async def session(stub_dashboard: StubDashboard) -> AsyncIterator[aiohttp.ClientSession]:
    """A client that waits for a short while only."""
    timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
    async with aiohttp.ClientSession(stub_dashboard.dashboard_url, timeout=timeout) as session:
        yield session


async def test_a_hung_dashboard_never_answers(stub_dashboard: StubDashboard, session: aiohttp.ClientSession) -> None:
    stub_dashboard.misbehave(Hang())
    with pytest.raises(TimeoutError):
        await session.get("/api/version")
    stub_dashboard.behave()
    assert await _status(session, "/api/version") == 200
    assert stub_dashboard.calls == {"GET /api/version": 2}


async def test_a_slow_dashboard_answers_late(stub_dashboard: StubDashboard, session: aiohttp.ClientSession) -> None:
    stub_dashboard.misbehave(Delay(0.1))
    before = time.monotonic()
    assert await _status(session, "/api/version") == 200
    assert time.monotonic() - before >= 0.1
    stub_dashboard.misbehave(Delay(3600))
    with pytest.raises(TimeoutError):
        await session.get("/api/version")


async def test_a_dripping_dashboard_answers_byte_by_byte(
    stub_dashboard: StubDashboard, session: aiohttp.ClientSession
) -> None:
    stub_dashboard.misbehave(Drip(seconds_per_byte=1))
    async with session.get("/api/version") as answer:
        assert await answer.content.readexactly(1) == b"{"
        with pytest.raises(TimeoutError):
            await answer.read()
    stub_dashboard.behave()
    stub_dashboard.misbehave(Drip(seconds_per_byte=0))
    async with session.get("/api/version") as answer:
        assert (await answer.json())["version"] == "4"


async def test_one_call_of_one_job_fails_and_all_else_works(
    stub_dashboard: StubDashboard, session: aiohttp.ClientSession
) -> None:
    first, second = stub_dashboard.add(2, LONG)
    stub_dashboard.misbehave(Fail(503, "busy"), call="GET /api/jobs/{id}", submission_id=first)
    async with session.get(f"/api/jobs/{first}") as answer:
        assert (answer.status, await answer.text()) == (503, "busy")
    assert await _status(session, f"/api/jobs/{second}") == 200
    assert await _status(session, f"/api/jobs/{first}/logs") == 200
    stub_dashboard.behave()
    assert await _status(session, f"/api/jobs/{first}") == 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({}, 401, id="no token"),
        pytest.param({"Authorization": "Bearer wrong"}, 403, id="wrong token"),
        pytest.param({"Authorization": "sesame"}, 403, id="not a bearer"),
        pytest.param({"Authorization": "Bearer sesame"}, 200, id="right token"),
        pytest.param({"X-Ray-Authorization": "Bearer sesame"}, 200, id="right token in Ray's own header"),
    ],
)
async def test_a_dashboard_with_a_token_wants_it(
    stub_dashboard: StubDashboard, session: aiohttp.ClientSession, headers: dict[str, str], expected: int
) -> None:
    stub_dashboard.token = "sesame"
    async with session.get("/api/jobs/", headers=headers) as answer:
        assert answer.status == expected


async def test_thousands_of_jobs_are_listed(stub_dashboard: StubDashboard) -> None:
    names = stub_dashboard.add(5000, LONG)
    async with aiohttp.ClientSession(stub_dashboard.dashboard_url) as session, session.get("/api/jobs/") as answer:
        assert [job["submission_id"] for job in await answer.json()] == names


async def test_a_forgotten_job_is_not_found(stub_dashboard: StubDashboard, session: aiohttp.ClientSession) -> None:
    first, second, third = stub_dashboard.add(3, LONG)
    stub_dashboard.forget(first)
    assert [await _status(session, f"/api/jobs/{name}") for name in (first, second)] == [404, 200]
    stub_dashboard.forget()
    assert [await _status(session, f"/api/jobs/{name}") for name in (second, third)] == [404, 404]


async def test_a_job_runs_as_scripted(stub_dashboard: StubDashboard, session: aiohttp.ClientSession) -> None:
    stub_dashboard.script("job", JobScript(pending_seconds=3600, output="words\n"))
    async with session.post("/api/jobs/", json={"entrypoint": "python x.py", "submission_id": "job"}) as answer:
        assert answer.status == 200
    assert (await _job(session, "job"))["status"] == "PENDING"
    stub_dashboard.end("job", "FAILED", exit_code=9, message="the reason")
    job = await _job(session, "job")
    assert (job["status"], job["driver_exit_code"], job["message"]) == ("FAILED", 9, "the reason")


async def test_serve_applications_are_shown_as_scripted(
    stub_dashboard: StubDashboard, session: aiohttp.ClientSession
) -> None:
    config = {"applications": [{"name": "good", "import_path": "m:a"}, {"name": "bad", "import_path": "m:b"}]}
    stub_dashboard.application_status["bad"] = "DEPLOY_FAILED"
    async with session.put("/api/serve/applications/", json=config) as answer:
        assert answer.status == 200
    async with session.get("/api/serve/applications/") as answer:
        shown = (await answer.json())["applications"]
    assert {name: shown[name]["status"] for name in shown} == {"good": "RUNNING", "bad": "DEPLOY_FAILED"}
    assert stub_dashboard.serve_config == config


async def test_a_stub_stops_while_it_hangs() -> None:
    stub = StubDashboard.start()
    stub.misbehave(Hang())
    async with aiohttp.ClientSession(stub.dashboard_url) as session:
        call = asyncio.ensure_future(session.get("/api/version"))
        await eventually("the stub was called", lambda: _first_call(stub), limit_seconds=5)
        stub.stop()
        with pytest.raises(aiohttp.ClientError):
            await call


async def _first_call(stub: StubDashboard) -> str | None:
    return next(iter(stub.calls), None)


async def _status(session: aiohttp.ClientSession, path: str) -> int:
    async with session.get(path) as answer:
        return answer.status


async def _job(session: aiohttp.ClientSession, name: str) -> dict[str, object]:
    async with session.get(f"/api/jobs/{name}") as answer:
        return dict(await answer.json())
