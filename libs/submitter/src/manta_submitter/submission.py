"""What is submitted, where to, and Ray's answer."""

import argparse
import dataclasses
import http.client
import json
import ssl
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final

TIME_LIMIT_SECONDS: Final = 10.0
TOKEN_HEADER: Final = "X-Ray-Authorization"
HAS_IT: Final = "Please use a different submission_id"  # how Ray refuses a job that it has already


class Failed(Exception):
    """The job cannot be submitted or followed; the message says why."""


@dataclasses.dataclass(frozen=True)
class Target:
    """A Ray dashboard, the id that the job is to have there, and the token that opens it."""

    address: str
    submission_id: str
    token: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Target":
        """The target that the variables of a submitter's pod name."""
        for name in ("RAY_DASHBOARD_ADDRESS", "RAY_JOB_SUBMISSION_ID"):
            if not environment.get(name):
                raise Failed(f"missing {name} in environment variables")
        address = environment["RAY_DASHBOARD_ADDRESS"]
        whole = address if address.startswith(("http://", "https://")) else f"http://{address}"
        return cls(whole.rstrip("/"), environment["RAY_JOB_SUBMISSION_ID"], environment.get("RAY_AUTH_TOKEN", ""))

    @property
    def headers(self) -> dict[str, str]:
        """What proves the right to ask."""
        return {TOKEN_HEADER: f"Bearer {self.token}"} if self.token else {}

    def connection(self) -> http.client.HTTPConnection:
        """A connection to the dashboard that gives up after ten seconds of silence."""
        where = urllib.parse.urlsplit(self.address)
        if where.scheme == "https":
            return http.client.HTTPSConnection(
                where.netloc, timeout=TIME_LIMIT_SECONDS, context=ssl.create_default_context()
            )
        return http.client.HTTPConnection(where.netloc, timeout=TIME_LIMIT_SECONDS)

    def path(self, rest: str) -> str:
        """The path of a part of the jobs' API."""
        return f"{urllib.parse.urlsplit(self.address).path}/api/jobs/{rest}"


def submission(arguments: Sequence[str], submission_id: str) -> dict[str, Any]:
    """The body of the request; what is empty is left out."""
    given = _parser().parse_args(arguments)
    words = given.entrypoint[1:] if given.entrypoint[:1] == ["--"] else given.entrypoint
    found = {
        "runtime_env": given.runtime_env_json,
        "metadata": given.metadata_json,
        "entrypoint_resources": given.entrypoint_resources,
        "submission_id": submission_id,
        "entrypoint_num_cpus": given.entrypoint_num_cpus,
        "entrypoint_num_gpus": given.entrypoint_num_gpus,
    }
    return {"entrypoint": " ".join(words)} | {name: value for name, value in found.items() if value}


def submit(target: Target, body: Mapping[str, Any]) -> str | None:
    """Give Ray the job; its id, or None when Ray has it already."""
    connection = target.connection()
    try:
        headers = {"Content-Type": "application/json", **target.headers}
        connection.request("POST", target.path(""), json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise Failed(f"the Ray dashboard at {target.address} does not answer: {error!r}") from error
    finally:
        connection.close()
    if HAS_IT in text:
        return None
    if answer.status != http.HTTPStatus.OK:
        raise Failed(f"Ray refused the job with status {answer.status}: {text.strip()}")
    try:
        return str(json.loads(text)["job_id"])
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"the answer of {target.address} is not one of Ray: {text[:200]!r}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="submitter", allow_abbrev=False, description="Submits one job to Ray.")
    for name in ("--runtime-env-json", "--metadata-json", "--entrypoint-resources"):
        parser.add_argument(name, type=_json_object, metavar="JSON")
    for name in ("--entrypoint-num-cpus", "--entrypoint-num-gpus"):
        parser.add_argument(name, type=float, default=0.0, metavar="N")
    parser.add_argument("entrypoint", nargs=argparse.REMAINDER, help="the job's command")
    return parser


def _json_object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object such as {{}}")
    return found
