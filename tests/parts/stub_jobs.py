"""Jobs of the stub dashboard: those of the simulated one, by the machine's clock, and what Ray says of bad ones."""

import secrets
import time
from collections.abc import Mapping
from typing import Any

from manta_embedded.sim.rayjobs import JobScript, SubmittedJob, script_of

__all__ = ["Job", "JobScript", "new_submission_id", "refusal", "script_of"]

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


class Job(SubmittedJob):
    """One submitted job, by the machine's clock."""

    def __init__(self, submission: Mapping[str, Any], script: JobScript) -> None:
        super().__init__(submission, script, time.time)


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
