"""Jobs of a simulated Ray: how one runs is scripted, and what it shows has the shape of Ray's own answers."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

MESSAGES = {
    "PENDING": "Job has not started yet.",
    "RUNNING": "Job is currently running.",
    "STOPPED": "Job was intentionally stopped.",
    "SUCCEEDED": "Job finished successfully.",
    "FAILED": "Job failed.",
}
FOR_EVER = float("inf")


class JobScript(msgspec.Struct, frozen=True, kw_only=True):
    """How a job runs: how long it waits and runs (FOR_EVER hangs), what it prints, and how it ends."""

    pending_seconds: float = 0.0
    seconds: float = 0.0
    output: str = ""
    outcome: str = "SUCCEEDED"
    exit_code: int = 0
    message: str | None = None


class SubmittedJob:
    """One job; `now` is the time in seconds since 1970."""

    def __init__(self, submission: Mapping[str, Any], script: JobScript, now: Callable[[], float]) -> None:
        self.submission_id = str(submission["submission_id"])
        self._submission, self.script, self._now = submission, script, now
        self._submitted_at = now()

    @property
    def status(self) -> str:
        """The status by its script at this moment."""
        age = self._now() - self._submitted_at
        if age < self.script.pending_seconds:
            return "PENDING"
        return "RUNNING" if age < self._whole_seconds else self.script.outcome

    @property
    def ended(self) -> bool:
        """Whether its status is final."""
        return self.status not in ("PENDING", "RUNNING")

    def end(self, outcome: str, *, exit_code: int = 0, message: str | None = None) -> None:
        """Let it end now, in a way."""
        age = self._now() - self._submitted_at
        self.script = JobScript(
            seconds=age, output=self.script.output, outcome=outcome, exit_code=exit_code, message=message
        )

    def shown(self) -> dict[str, Any]:
        """What Ray tells of it."""
        status, ended = self.status, self.ended
        started, failed = status != "PENDING", status == "FAILED"
        return {
            "type": "SUBMISSION",
            "job_id": None,
            "submission_id": self.submission_id,
            "driver_info": None,
            "status": status,
            "entrypoint": self._submission["entrypoint"],
            "message": self._message(status),
            "error_type": "JOB_ENTRYPOINT_COMMAND_ERROR" if failed else None,
            "start_time": round(self._submitted_at * 1000),
            "end_time": round((self._submitted_at + self._whole_seconds) * 1000) if ended else None,
            "metadata": self._submission.get("metadata"),
            "runtime_env": self._submission.get("runtime_env"),
            "driver_agent_http_address": "http://127.0.0.1:52365" if started else None,
            "driver_node_id": "5" * 56 if started else None,
            "driver_exit_code": self.script.exit_code if ended and status != "STOPPED" else None,
        }

    def logs(self) -> str:
        """What it has printed so far; nothing before it runs."""
        if self.status == "PENDING":
            return ""
        return (
            f"Running entrypoint for job {self.submission_id}: {self._submission['entrypoint']}\n{self.script.output}"
        )

    @property
    def _whole_seconds(self) -> float:
        return self.script.pending_seconds + self.script.seconds

    def _message(self, status: str) -> str:
        if self.ended and self.script.message is not None:
            return self.script.message
        if status == "FAILED":
            tail = f", last available logs (truncated to 20,000 chars):\n{self.logs()}"
            return f"Job entrypoint command failed with exit code {self.script.exit_code}{tail}"
        return MESSAGES[status]


def script_of(entrypoint: str) -> JobScript:
    """How an entrypoint of `echo TEXT`, `sleep SECONDS` and `exit CODE`, joined by `;`, would run."""
    output, seconds, code = "", 0.0, 0
    for step in re.split(r"\s*;\s*", entrypoint.strip()):
        word, _, rest = step.partition(" ")
        match word:
            case "echo":
                output += f"{rest}\n"
            case "sleep":
                seconds += float(rest)
            case "exit":
                code = int(rest)
                break
    outcome = "FAILED" if code else "SUCCEEDED"
    return JobScript(seconds=seconds, output=output, outcome=outcome, exit_code=code)
