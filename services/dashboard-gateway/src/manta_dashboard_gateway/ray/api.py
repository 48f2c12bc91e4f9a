"""Ray's job and Serve API, call by call. Errors are those that `manta_common.dashboard.calls` tells of."""

from collections.abc import Callable
from typing import Protocol, TypeVar
from urllib.parse import quote

from manta_common.bus.channel import written
from manta_common.dashboard.calls import Applications, JobDetails, Log, Stopped, Submission, Submitted, Version
from manta_common.dashboard.reports import TERMINAL
from manta_common.errors import AlreadyExists, Conflict, NotFound, Refused
from manta_dashboard_gateway.ray import answers
from manta_dashboard_gateway.ray.transport import MOST_BYTES, Answer, Failure, Request

JOBS = "/api/jobs/"
SERVE = "/api/serve/applications/"
TAKEN = ("already exists", "use a different submission_id")
NOT_ENDED = "non-terminal state"
PLAIN = ("text/plain", "application/octet-stream")
LOOK_SECONDS = 2.0  # for the look before a submission: a dashboard that hangs is told of soon
MOST_CHARACTERS = 2_000_000  # of a log at once; a message on the bus has 8 MB at most

T = TypeVar("T")


class Ask(Protocol):
    """Sends a request to one dashboard and reads its answer."""

    async def __call__(self, request: Request, read: Callable[[Answer], T]) -> T:
        """What was read."""


async def job(ask: Ask, job_id: str, limit_seconds: float) -> JobDetails:
    """One job."""
    request = Request(call="get", path=_path(job_id), limit_seconds=limit_seconds)
    return await _about(ask, request, lambda answer: answers.job(answer.body, job_id))


async def jobs(ask: Ask, limit_seconds: float) -> dict[str, JobDetails]:
    """All submitted jobs that can be read, by id."""
    request = Request(call="list", path=JOBS, limit_seconds=limit_seconds)
    return await ask(request, lambda answer: answers.jobs(answer.body))


async def submit(ask: Ask, wanted: Submission) -> Submitted:
    """Submit a job that Ray does not have; it has it by an earlier try of ours, or somebody's under the same id."""
    limit_seconds = min(LOOK_SECONDS, wanted.limit_seconds)
    try:
        return _existing(await job(ask, wanted.job_id, limit_seconds), wanted)
    except NotFound:
        return await _submitted(ask, wanted)


async def stop(ask: Ask, job_id: str, limit_seconds: float) -> Stopped:
    """Stop a job; Conflict when Ray does not, though it has not ended."""
    request = Request(call="stop", method="POST", path=f"{_path(job_id)}/stop", limit_seconds=limit_seconds)
    if (await _about(ask, request, lambda answer: answers.read(answer.body, answers.Stop))).stopped:
        return Stopped(stopped=True)
    found = await job(ask, job_id, limit_seconds)
    if found.status not in TERMINAL:
        raise Conflict(f"Ray did not stop the job {job_id}, which is {found.status}")
    return Stopped(stopped=False, status=found.status)


async def delete(ask: Ask, job_id: str, limit_seconds: float) -> None:
    """Make Ray forget a job; Conflict while it has not ended."""
    request = Request(call="delete", method="DELETE", path=_path(job_id), limit_seconds=limit_seconds)
    try:
        await _about(ask, request, _ignored)
    except Failure as failure:
        if NOT_ENDED in failure.text:
            raise Conflict(f"the job {job_id} has not ended: stop it first") from failure
        raise


async def log(ask: Ask, job_id: str, limit_seconds: float, *, start: int, tail: int) -> Log:
    """A part of a job's log. Of a log that is too long, only the end can be had."""
    request = Request(call="logs", path=f"{_path(job_id)}/logs", limit_seconds=limit_seconds, tail_bytes=MOST_BYTES)
    return await _about(ask, request, lambda answer: _log(answer, start, max(0, min(tail, MOST_CHARACTERS))))


async def applications(ask: Ask, limit_seconds: float) -> Applications:
    """Serve's applications."""
    path = f"{SERVE}?api_type=declarative"
    request = Request(call="get-applications", path=path, limit_seconds=limit_seconds)
    return await _about(ask, request, lambda answer: answers.applications(answer.body))


async def deploy(ask: Ask, config: object, limit_seconds: float) -> None:
    """Give Serve the applications that it shall run."""
    body = written(config)
    request = Request(call="put-applications", method="PUT", path=SERVE, body=body, limit_seconds=limit_seconds)
    await _about(ask, request, _ignored)


async def version(ask: Ask, limit_seconds: float) -> Version:
    """Which Ray it is."""
    request = Request(call="version", path="/api/version", limit_seconds=limit_seconds)
    return await ask(request, lambda answer: answers.version(answer.body))


async def _about(ask: Ask, request: Request, read: Callable[[Answer], T]) -> T:
    """A question about one job, or about Serve; a 404 of Ray's in plain words says that it has none such."""
    try:
        return await ask(request, read)
    except Failure as failure:
        if failure.code == 404 and failure.content_type in PLAIN:
            raise NotFound(failure.text.strip() or "Ray has no such thing") from failure
        raise


async def _submitted(ask: Ask, wanted: Submission) -> Submitted:
    """Submit; that the id is taken by now is as good as if it had been before."""
    body = written(_submission(wanted))
    request = Request(call="submit", method="POST", path=JOBS, body=body, limit_seconds=wanted.limit_seconds)
    try:
        taken = await ask(request, lambda answer: answers.read(answer.body, answers.Taken))
    except Failure as failure:
        if not _is_taken(failure):
            raise
        return _existing(await job(ask, wanted.job_id, wanted.limit_seconds), wanted)
    return Submitted(job_id=taken.submission_id or taken.job_id or wanted.job_id)


def _existing(found: JobDetails, wanted: Submission) -> Submitted:
    """A job of the id that is wanted; AlreadyExists when it is another one."""
    if found.entrypoint != wanted.entrypoint or found.metadata != wanted.metadata:
        raise AlreadyExists(f"Ray has another job {wanted.job_id}: {found.entrypoint!r}")
    return Submitted(job_id=wanted.job_id, existed=True)


def _log(answer: Answer, start: int, tail: int) -> Log:
    if answer.cut:
        text = answers.log_tail(answer.body)
        return Log(text=text[max(0, len(text) - tail) :], start=-1)
    text = answers.read(answer.body, answers.Logs).logs or ""
    begin = max(min(max(0, start), len(text)), len(text) - tail)
    return Log(text=text[begin:], start=begin)


def _ignored(_: Answer) -> None:
    """That it was answered is all that counts."""


def _path(job_id: str) -> str:
    """Where a job is; an id is any text that a user chose."""
    if job_id in ("", ".", ".."):
        raise Refused(400, "BadRequest", f"{job_id!r} cannot be a job id")
    return JOBS + quote(job_id, safe="")


def _is_taken(failure: Failure) -> bool:
    """Ray answers 500 with its agent's 400 in the text; other versions 400 or 409."""
    return failure.code == 409 or any(words in failure.text for words in TAKEN)


def _submission(wanted: Submission) -> dict[str, object]:
    """As Ray wants it; what is empty is left out, for older versions do not know all of it."""
    optional = {
        "runtime_env": wanted.runtime_env,
        "metadata": wanted.metadata,
        "entrypoint_num_cpus": wanted.entrypoint_num_cpus,
        "entrypoint_num_gpus": wanted.entrypoint_num_gpus,
        "entrypoint_memory": wanted.entrypoint_memory,
        "entrypoint_resources": wanted.entrypoint_resources,
    }
    given = {name: value for name, value in optional.items() if value}
    return {"entrypoint": wanted.entrypoint, "submission_id": wanted.job_id, **given}
