"""Jobs of the stub dashboard: how one runs is scripted, and what it shows has the shape of Ray 2.60's answers."""

import dataclasses
import re
import secrets
import time
from typing import Any

SUBMIT_FIELDS = {
    "entrypoint",
    "submission_id",
    "job_id",
    "runtime_env",
    "metadata",
    "entrypoint_num_cpus",
    "entrypoint_num_gpus",
    "entrypoint_memory",
    "entrypoint_resources",
    "entrypoint_label_selector",
}
MESSAGES = {
    "PENDING": "Job has not started yet.",
    "RUNNING": "Job is currently running.",
    "STOPPED": "Job was intentionally stopped.",
    "SUCCEEDED": "Job finished successfully.",
    "FAILED": "Job failed.",
}


@dataclasses.dataclass(frozen=True)
class JobScript:
    """How a job runs: how long it waits and runs, what it prints, and how it ends."""

    pending_seconds: float = 0
    seconds: float = 0
    output: str = ""
    outcome: str = "SUCCEEDED"
    exit_code: int = 0
    message: str | None = None


@dataclasses.dataclass
class Job:
    """One submitted job."""

    submission_id: str
    entrypoint: str
    script: JobScript
    metadata: dict[str, str] | None = None
    runtime_env: dict[str, Any] | None = None
    submitted_at: float = dataclasses.field(default_factory=time.time)

    @property
    def status(self) -> str:
        """The status by its script at this moment."""
        age = time.time() - self.submitted_at
        if age < self.script.pending_seconds:
            return "PENDING"
        return "RUNNING" if age < self._whole_seconds else self.script.outcome

    @property
    def ended(self) -> bool:
        """Whether its status is final."""
        return self.status not in ("PENDING", "RUNNING")

    def end(self, outcome: str, *, exit_code: int = 0, message: str | None = None) -> None:
        """Let it end now."""
        age = time.time() - self.submitted_at
        self.script = dataclasses.replace(
            self.script, pending_seconds=0, seconds=age, outcome=outcome, exit_code=exit_code, message=message
        )

    def details(self) -> dict[str, Any]:
        """What GET /api/jobs/{id} answers."""
        status, ended, started = self.status, self.ended, self.status != "PENDING"
        return {
            "type": "SUBMISSION",
            "job_id": None,  # Ray's, once the entrypoint has called ray.init
            "submission_id": self.submission_id,
            "driver_info": None,
            "status": status,
            "entrypoint": self.entrypoint,
            "message": self._message(status),
            "error_type": "JOB_ENTRYPOINT_COMMAND_ERROR" if status == "FAILED" else None,
            "start_time": round(self.submitted_at * 1000),
            "end_time": round((self.submitted_at + self._whole_seconds) * 1000) if ended else None,
            "metadata": self.metadata,
            "runtime_env": self.runtime_env,
            "driver_agent_http_address": "http://127.0.0.1:52365" if started else None,
            "driver_node_id": "5" * 56 if started else None,
            "driver_exit_code": self.script.exit_code if ended and status != "STOPPED" else None,
        }

    def logs(self) -> str:
        """What its entrypoint printed so far; nothing before it runs."""
        if self.status == "PENDING":
            return ""
        return f"Running entrypoint for job {self.submission_id}: {self.entrypoint}\n{self.script.output}"

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


def refusal(body: dict[str, Any]) -> str | None:
    """Why a submission is not one; Ray answers with a Python traceback that ends in such a line."""
    unknown = set(body) - SUBMIT_FIELDS
    if unknown:
        return f"TypeError: JobSubmitRequest.__init__() got an unexpected keyword argument '{min(unknown)}'"
    if "entrypoint" not in body:
        return "TypeError: JobSubmitRequest.__init__() missing 1 required positional argument: 'entrypoint'"
    if not isinstance(body["entrypoint"], str):
        return f"TypeError: entrypoint must be a string, got {type(body['entrypoint'])}"
    return None


def new_submission_id() -> str:
    """An id like those Ray gives to jobs that come without one."""
    return f"raysubmit_{secrets.token_hex(8)}"


def script_of(entrypoint: str) -> JobScript:
    """How an entrypoint of `echo TEXT`, `sleep SECONDS` and `exit CODE`, joined by `;`, would run."""
    output, seconds, code = "", 0.0, 0
    for step in re.split(r"\s*;\s*", entrypoint.strip()):
        word, _, rest = step.partition(" ")
        if word == "echo":
            output += f"{rest}\n"
        elif word == "sleep":
            seconds += float(rest)
        elif word == "exit":
            code = int(rest)
            break
    outcome = "FAILED" if code else "SUCCEEDED"
    return JobScript(seconds=seconds, output=output, outcome=outcome, exit_code=code)
