"""The real Ray of the tests is real: a job that uses Ray itself succeeds."""

from typing import Any

import aiohttp

from tests.parts.eventually import eventually
from tests.parts.patience import patient
from tests.parts.ray import LocalRay

PROGRAM = "import ray; ray.init(); print('six times seven is', ray.get(ray.remote(lambda: 6 * 7).remote()))"
LIMIT_SECONDS = 120


async def test_a_job_submitted_over_http_succeeds(ray: LocalRay) -> None:
    async with aiohttp.ClientSession(ray.dashboard_url, timeout=aiohttp.ClientTimeout(total=patient(30))) as session:
        async with session.post("/api/jobs/", json={"entrypoint": f'python -c "{PROGRAM}"'}) as answer:
            path = f"/api/jobs/{(await answer.json())['submission_id']}"
        job = await eventually("the job ends", lambda: _ended(session, path), limit_seconds=LIMIT_SECONDS)
        logs = (await _got(session, f"{path}/logs"))["logs"]
    assert job["status"] == "SUCCEEDED", job["message"]
    assert "six times seven is 42" in logs
    assert job["driver_info"]["id"] == job["job_id"]


async def _ended(session: aiohttp.ClientSession, path: str) -> dict[str, Any] | None:
    job = await _got(session, path)
    return None if job["status"] in ("PENDING", "RUNNING") else job


async def _got(session: aiohttp.ClientSession, path: str) -> dict[str, Any]:
    async with session.get(path) as answer:
        return dict(await answer.json())
