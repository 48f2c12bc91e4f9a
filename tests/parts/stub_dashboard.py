"""An HTTP stub of Ray's dashboard: the job and Serve API with scripted behaviour, wrong behaviour included.

It runs in a thread of its own, so a test may change its behaviour at any time, also from synchronous code.
"""

import asyncio
import collections
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from aiohttp import web

from tests.parts.patience import patient
from tests.parts.stub_faults import Cut, Delay, Drip, Fail, Fault, Flood, Hang, Say, answered, dripped
from tests.parts.stub_jobs import Job, JobScript, new_submission_id, refusal, script_of
from tests.parts.stub_serves import application

START_LIMIT_SECONDS = 10
REMEMBERED_CALLS = 25
T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class StubDashboard:
    """A dashboard that does what the test says; `calls` counts every request, as in `calls["GET /api/jobs/{id}"]`."""

    def __init__(self) -> None:
        self.origin = "a stub"
        self.dashboard_url = ""
        self.token: str | None = None
        self.hosts: set[str] = set()  # what it was called
        self.paths: list[str] = []  # as they were sent
        self.calls: collections.Counter[str] = collections.Counter()
        self.jobs: dict[str, Job] = {}
        self.scripts: dict[str, JobScript] = {}
        self.serve_config: dict[str, Any] | None = None
        self.deployed_at = 0.0
        self.application_status: dict[str, str] = {}
        self.proxy_code = 200  # what Serve's proxy says of itself, once Serve runs
        self._last_calls: collections.deque[str] = collections.deque(maxlen=REMEMBERED_CALLS)
        self._faults: list[tuple[Fault, str | None, str | None]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stub dashboard", daemon=True)
        self._runner: web.AppRunner | None = None

    @classmethod
    def start(cls, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> "StubDashboard":
        """Start one on a loopback port, by default on a free one."""
        stub = cls()
        stub._thread.start()
        stub._in_loop(stub._listen(host, port, tls))
        return stub

    def stop(self) -> None:
        """Close every connection and the port."""
        if self._runner is not None:
            self._in_loop(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=patient(START_LIMIT_SECONDS))
        self._loop.close()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        server = self._runner.server if self._runner else None
        return len(server.connections) if server else 0

    def log_tail(self) -> str:
        """The last requests and how they were answered."""
        return "\n".join(self._last_calls) or "(nobody called)"

    def misbehave(self, fault: Fault, *, call: str | None = None, submission_id: str | None = None) -> None:
        """From now on do wrong: always, or only for one call ("GET /api/jobs/{id}") or one job."""
        self._faults.insert(0, (fault, call, submission_id))

    def behave(self) -> None:
        """Do nothing wrong any more."""
        self._faults.clear()

    def script(self, submission_id: str, script: JobScript) -> None:
        """Say how a job will run, before it is submitted; else its entrypoint tells."""
        self.scripts[submission_id] = script

    def end(self, submission_id: str, outcome: str, *, exit_code: int = 0, message: str | None = None) -> None:
        """Let a job end now, in a way."""
        self.jobs[submission_id].end(outcome, exit_code=exit_code, message=message)

    def add(self, count: int, script: JobScript) -> list[str]:
        """Make many jobs, as if they had been submitted long ago; their ids."""
        names = [f"job-{len(self.jobs) + number:06}" for number in range(count)]
        self.jobs |= {name: Job({"submission_id": name, "entrypoint": f"python {name}.py"}, script) for name in names}
        return names

    def forget(self, submission_id: str | None = None) -> None:
        """Forget a job, or all of them and Serve, as a head that was restarted without external storage."""
        for name in [submission_id] if submission_id else list(self.jobs):
            self.jobs.pop(name, None)
        if submission_id is None:
            self.serve_config = None

    async def _listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        served = web.Application(middlewares=[self._counted, self._faulty, self._authenticated])
        served.add_routes(self._routes())
        self._runner = web.AppRunner(served, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port, ssl_context=tls, reuse_address=True).start()
        place = f"[{host}]" if ":" in host else host
        self.dashboard_url = f"{'https' if tls else 'http'}://{place}:{self._runner.addresses[0][1]}"

    def _routes(self) -> list[web.RouteDef]:
        return [
            web.get("/api/version", self._version),
            web.post("/api/jobs/", self._submit),
            web.get("/api/jobs/", self._list),
            web.get("/api/jobs/{id}", self._get),
            web.delete("/api/jobs/{id}", self._delete),
            web.post("/api/jobs/{id}/stop", self._stop_job),
            web.get("/api/jobs/{id}/logs", self._logs),
            web.get("/api/serve/applications/", self._get_applications),
            web.put("/api/serve/applications/", self._put_applications),
            web.get("/-/healthz", self._health),  # of the proxy, which listens on another port as a rule
        ]

    @web.middleware
    async def _counted(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.calls[_call(request)] += 1
        self.hosts.add(request.host)
        self.paths.append(request.raw_path)
        status = "not answered"
        try:
            response = await handler(request)
            status = str(response.status)
        finally:
            self._last_calls.append(f"{request.method} {request.path}: {status}")
        return response

    @web.middleware
    async def _faulty(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        match self._fault(request):
            case Hang():
                await asyncio.Event().wait()
            case Delay(seconds):
                await asyncio.sleep(seconds)
            case Fail(status, text):
                return web.Response(status=status, text=text)
            case Drip(seconds_per_byte):
                return await dripped(request, await handler(request), seconds_per_byte)
            case Say() | Cut() | Flood() as wrong:
                return await answered(request, wrong, await handler(request))
            case None:
                pass
        return await handler(request)

    def _fault(self, request: web.Request) -> Fault | None:
        for fault, call, submission_id in self._faults:
            if call in (None, _call(request)) and submission_id in (None, request.match_info.get("id")):
                return fault
        return None

    @web.middleware
    async def _authenticated(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """As Ray with RAY_AUTH_MODE=token, which takes its own header too, for proxies that use the first one."""
        given = request.headers.get("Authorization") or request.headers.get("X-Ray-Authorization")
        if self.token is None or given == f"Bearer {self.token}":
            return await handler(request)
        if given is None:
            return web.Response(status=401, text="Unauthorized: Missing authentication token")
        return web.Response(status=403, text="Forbidden: Invalid authentication token")

    async def _version(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"version": "4", "ray_version": "2.60.0", "ray_commit": "stub", "session_name": "session_stub"}
        )

    async def _submit(self, request: web.Request) -> web.Response:
        body = {name: value for name, value in (await request.json()).items() if value is not None}
        if wrong := refusal(body):
            return web.Response(status=400, text=f"Traceback (most recent call last):\n{wrong}\n")
        name = body.get("submission_id") or body.get("job_id") or new_submission_id()
        if name in self.jobs:
            return _failed(
                400, f"ValueError: Job with submission_id {name} already exists. Please use a different submission_id."
            )
        script = self.scripts.get(name) or script_of(body["entrypoint"])
        self.jobs[name] = Job(body | {"submission_id": name}, script)
        return web.json_response({"job_id": name, "submission_id": name})

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response([job.shown() for job in list(self.jobs.values())])

    async def _get(self, request: web.Request) -> web.Response:
        return web.json_response(self._job(request).shown())

    async def _delete(self, request: web.Request) -> web.Response:
        job = self._job(request)
        if not job.ended:
            return _failed(
                500,
                f"RuntimeError: Attempted to delete job '{job.submission_id}', "
                f"but it is in a non-terminal state {job.status}.",
            )
        self.forget(job.submission_id)
        return web.json_response({"deleted": True})

    async def _stop_job(self, request: web.Request) -> web.Response:
        job = self._job(request)
        stopped = not job.ended
        if stopped:
            job.end("STOPPED")
        return web.json_response({"stopped": stopped})

    async def _logs(self, request: web.Request) -> web.Response:
        return web.json_response({"logs": self._job(request).logs()})

    async def _put_applications(self, request: web.Request) -> web.Response:
        config = await request.json()
        for number, one in enumerate(config.get("applications") or []):
            if "import_path" not in one:  # Ray shows what its validation found
                place = f"applications.{number}.import_path"
                text = (
                    f"1 validation error for ServeDeploySchema\n{place}\n  Field required\n    For further information"
                )
                return web.Response(status=400, text=text)
        self.serve_config, self.deployed_at = config, time.time()
        return web.Response()

    async def _health(self, request: web.Request) -> web.Response:
        if self.serve_config is None:
            return web.Response(status=503, text="Serve does not run")
        return web.Response(status=self.proxy_code, text="success" if self.proxy_code == 200 else "unhealthy")

    async def _get_applications(self, request: web.Request) -> web.Response:
        config = self.serve_config or {}
        shown = [
            application(one, self.deployed_at, self.application_status.get(one.get("name", "default"), "RUNNING"))
            for one in config.get("applications") or []
        ]
        return web.json_response(
            {
                "controller_info": {},
                "proxies": {},
                "applications": {one["name"]: one for one in shown},
                "target_capacity": config.get("target_capacity"),
            }
        )

    def _job(self, request: web.Request) -> Job:
        name = request.match_info["id"]
        if name not in self.jobs:
            raise web.HTTPNotFound(text=f"Job {name} does not exist")
        return self.jobs[name]

    def _in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=patient(START_LIMIT_SECONDS))


def _call(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return f"{request.method} {resource.canonical if resource else request.path}"


def _failed(inner_status: int, line: str) -> web.Response:
    """Ray's head answers 500 to whatever its agent refuses, with the agent's status and traceback in the text."""
    inner = f"Request failed with status code {inner_status}: Traceback (most recent call last):\n{line}\n"
    return web.Response(status=500, text=f"Traceback (most recent call last):\nRuntimeError: {inner}.\n")
