"""The light-weight submitter says and does what KubeRay's does, against a dashboard that follows a script."""

import asyncio
import os
import pathlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import WSMsgType, web

from manta_submitter.submission import Failed, Target, submission

SOURCES = pathlib.Path(__file__).parents[3] / "libs" / "submitter" / "src"
ID = "answer-5x2"
LINES = ("one\n", "x" * 100_000 + "\n", "é" * 200 + "\n")  # frames with each of the three kinds of length
LIMIT_SECONDS = 120


class Dashboard:
    """A dashboard with one job, whose log it sends and closes as it is told."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.tokens: list[str | None] = []
        self.answer: tuple[int, Any] = (200, {"job_id": ID})
        self.code = 1000
        self.ponged = False
        self.port = 0

    async def submit(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.json())
        self.tokens.append(request.headers.get("X-Ray-Authorization"))
        status, body = self.answer
        return (
            web.json_response(body, status=status) if isinstance(body, dict) else web.Response(text=body, status=status)
        )

    async def tail(self, request: web.Request) -> web.WebSocketResponse:
        self.tokens.append(request.headers.get("X-Ray-Authorization"))
        answer = web.WebSocketResponse(autoping=False)
        await answer.prepare(request)
        await answer.ping(b"there?")
        self.ponged = (await answer.receive()).type is WSMsgType.PONG
        for line in LINES:
            await answer.send_str(line)
        await answer.close(code=self.code, message=b"the job is gone" if self.code != 1000 else b"")
        return answer


@pytest_asyncio.fixture
async def dashboard() -> AsyncIterator[Dashboard]:
    found = Dashboard()
    app = web.Application()
    app.add_routes([web.post("/api/jobs/", found.submit), web.get(f"/api/jobs/{ID}/logs/tail", found.tail)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.port = runner.addresses[0][1]
    yield found
    await runner.cleanup()


async def submitter(port: int, *arguments: str, **variables: str) -> tuple[int, str, str]:
    """Run it as its pod would, with the standard library only; exit code and what it said."""
    given = {"RAY_DASHBOARD_ADDRESS": f"127.0.0.1:{port}", "RAY_JOB_SUBMISSION_ID": ID} | variables
    start = (
        f"import sys; sys.path.append({str(SOURCES)!r}); from manta_submitter.__main__ import main; sys.exit(main())"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", start, *arguments),
        env={"PATH": os.environ["PATH"], **given},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(LIMIT_SECONDS):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_a_job_is_submitted_and_its_log_is_followed_to_the_end(dashboard: Dashboard) -> None:
    code, out, err = await submitter(dashboard.port, "--entrypoint-num-cpus", "0.5", "--", "python", "job.py", "--x=1")
    assert (code, err) == (0, "")
    assert out == (
        f"SUCC -- Job '{ID}' submitted successfully\n"
        "INFO -- Tailing logs until the job finishes:\n"
        f"{''.join(LINES)}"
        f"SUCC -- Job '{ID}' succeeded\n"
    )
    assert dashboard.bodies == [{"entrypoint": "python job.py --x=1", "submission_id": ID, "entrypoint_num_cpus": 0.5}]
    assert dashboard.ponged


async def test_a_job_that_ray_has_already_is_only_followed(dashboard: Dashboard) -> None:
    dashboard.answer = (
        500,
        f"ValueError: Job with submission_id {ID} already exists. Please use a different submission_id.",
    )
    code, out, _ = await submitter(dashboard.port, "--", "true")
    assert code == 0
    assert out.startswith(f"INFO -- Job '{ID}' has already been submitted, tailing logs.\nINFO -- Tailing logs")


async def test_a_log_that_ends_early_is_a_failure(dashboard: Dashboard) -> None:
    dashboard.code = 1011
    code, out, err = await submitter(dashboard.port, "--", "true")
    assert (code, err) == (1, "ERROR -- the log ended early: status = 1011, reason = 'the job is gone'\n")
    assert "succeeded" not in out


async def test_a_refused_job_is_a_failure(dashboard: Dashboard) -> None:
    dashboard.answer = 400, "no such working_dir"
    code, _, err = await submitter(dashboard.port, "--", "true")
    assert (code, err) == (1, "ERROR -- Ray refused the job with status 400: no such working_dir\n")


async def test_the_token_goes_along(dashboard: Dashboard) -> None:
    code, _, _ = await submitter(dashboard.port, "--", "true", RAY_AUTH_TOKEN="secret")
    assert (code, dashboard.tokens) == (0, ["Bearer secret", "Bearer secret"])


async def test_no_dashboard_is_a_sentence() -> None:
    code, _, err = await submitter(1, "--", "true")
    assert code == 1
    assert err.startswith("ERROR -- the Ray dashboard at http://127.0.0.1:1 does not answer")


@pytest.mark.parametrize("missing", ["RAY_DASHBOARD_ADDRESS", "RAY_JOB_SUBMISSION_ID"])
def test_a_missing_variable_is_named(missing: str) -> None:
    given = {"RAY_DASHBOARD_ADDRESS": "head:8265", "RAY_JOB_SUBMISSION_ID": ID}
    with pytest.raises(Failed, match=f"missing {missing} in environment variables"):
        Target.of({name: value for name, value in given.items() if name != missing})


@pytest.mark.parametrize("address", ["head:8265", "http://head:8265", "http://head:8265/"])
def test_an_address_may_have_its_scheme_or_not(address: str) -> None:
    target = Target.of({"RAY_DASHBOARD_ADDRESS": address, "RAY_JOB_SUBMISSION_ID": ID})
    assert (target.address, target.path("")) == ("http://head:8265", "/api/jobs/")


def test_everything_that_is_given_is_submitted() -> None:
    flags = ["--runtime-env-json", '{"pip": ["x"]}', "--metadata-json", '{"a": "b"}', "--entrypoint-num-gpus", "1"]
    assert submission([*flags, "--entrypoint-resources", '{"TPU": 4}', "python", "x.py"], ID) == {
        "entrypoint": "python x.py",
        "runtime_env": {"pip": ["x"]},
        "metadata": {"a": "b"},
        "entrypoint_resources": {"TPU": 4},
        "submission_id": ID,
        "entrypoint_num_gpus": 1.0,
    }


@pytest.mark.parametrize(
    ("text", "message"), [("{", "is not JSON"), ("[1]", "is not a JSON object")], ids=["no JSON", "no object"]
)
def test_wrong_json_is_refused(text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        submission(["--metadata-json", text, "--", "true"], ID)
    assert f"argument --metadata-json: {text!r} {message}" in capsys.readouterr().err
