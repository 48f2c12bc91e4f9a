"""Print the log of a RayJob: of the pod that submitted it, or of Ray's dashboard when nobody but us submitted it."""

import argparse
import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from manta_cli import cells
from manta_cli.failures import Failed
from manta_cli.session import Session, add_cluster
from manta_cli.watch import ENDED
from manta_common.api import labels
from manta_common.errors import MantaError, NotFound, Refused
from manta_common.keys import Key
from manta_common.kinds import POD, RAYJOB, SERVICE
from manta_common.kube.protocol import Scope

SUBMITTER: Final = "ray-job-submitter"
POLL_SECONDS: Final = 1.0
SOON_SECONDS: Final = 0.2  # after something new; then later and later, up to the usual
SLOWER: Final = 1.2
FORBIDDEN: Final = 403
WITH_SUBMITTER: Final = frozenset({"K8sJobMode", ""})


class Said(msgspec.Struct, frozen=True):
    """What Ray's dashboard says of a job's log."""

    logs: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta logs`."""
    parser.add_argument("job", metavar="JOB", help="a RayJob")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the job has ended")
    add_cluster(parser)


async def logs(session: Session) -> int:
    """Print the log so far, or all of it as it comes."""
    job = Key(session.namespace, session.options.job)
    async for chunk in log(session, job, follow=session.options.follow):
        session.console.write(chunk)
    return 0


async def log(session: Session, job: Key, *, follow: bool) -> AsyncIterator[bytes]:
    """The log of a job; with `follow` from when there is one until the job has ended."""
    found = await session.kube.get(RAYJOB, job, dict)
    mode = found["spec"].get("submissionMode", "")
    if mode in WITH_SUBMITTER or mode == "SidecarMode":
        async for chunk in _of_submitter(session, job, follow=follow):
            yield chunk
    else:
        async for chunk in _of_dashboard(session, job, follow=follow):
            yield chunk


async def _of_submitter(session: Session, job: Key, *, follow: bool) -> AsyncIterator[bytes]:
    """The submitter follows the job, and its log is the job's."""
    seen: str | None = None
    while True:
        found = await session.kube.get(RAYJOB, job, dict)
        pod = await _submitter(session, found)
        name = pod["metadata"]["name"] if pod else None
        if pod and name != seen and is_started(pod):
            seen = name
            async for chunk in session.kube.log(Key(job.namespace, str(name)), container=SUBMITTER, follow=follow):
                yield chunk
        if is_over(found) or not follow:
            break
        await asyncio.sleep(POLL_SECONDS)
    if seen is None:
        raise Failed(f"RayJob {job} has no log yet: its state is {_state(found)!r}; try -f, or `manta describe`")


async def _submitter(session: Session, job: Mapping[str, Any]) -> dict[str, Any] | None:
    """The newest pod that submits the job."""
    name, cluster = job["metadata"]["name"], cells.at(job, ".status.rayClusterName")
    selector = f"{labels.JOB_NAME}={name}"
    if job["spec"].get("submissionMode") == "SidecarMode":
        if not cluster:
            return None
        selector = f"{labels.CLUSTER}={cluster},{labels.NODE_TYPE}={labels.HEAD}"
    pods = (await session.kube.list(POD, dict, Scope(namespace=job["metadata"]["namespace"], labels=selector))).items
    return max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)


def is_started(pod: Mapping[str, Any]) -> bool:
    """Whether the container that submits has begun, or has ended already."""
    for one in cells.at(pod, ".status.containerStatuses") or ():
        if one["name"] == SUBMITTER:
            return bool(one.get("state", {}).keys() & {"running", "terminated"})
    return False


def is_over(job: Mapping[str, Any]) -> bool:
    """Whether a job has ended for good."""
    return _state(job) in ENDED


def _state(job: Mapping[str, Any]) -> str:
    return str(cells.at(job, ".status.jobDeploymentStatus") or "")


async def _of_dashboard(session: Session, job: Key, *, follow: bool) -> AsyncIterator[bytes]:
    """What the dashboard has more than before, time and again."""
    printed, reached, wait_seconds = 0, False, SOON_SECONDS
    while True:
        found = await session.kube.get(RAYJOB, job, dict)
        try:
            text = await _said(session, found)
            wait_seconds = SOON_SECONDS if len(text) > printed or not reached else wait_seconds
            reached = True
            yield text[printed:].encode()
            printed = max(printed, len(text))
        except (NotFound, Refused, Failed) as error:
            if not follow or _is_forbidden(error):
                raise Failed(f"the dashboard of RayJob {job} does not show its log: {error}") from error
        except MantaError as error:
            if not follow and not reached:
                raise Failed(f"the dashboard of RayJob {job} cannot be reached: {error}") from error
        if is_over(found) or not follow:
            return
        await asyncio.sleep(wait_seconds)
        wait_seconds = min(POLL_SECONDS, wait_seconds * SLOWER) if reached else SOON_SECONDS


def _is_forbidden(error: Exception) -> bool:
    """Whether waiting does not help: the right to `get` `services/proxy` is missing."""
    return isinstance(error, Refused) and error.code == FORBIDDEN


async def _said(session: Session, job: Mapping[str, Any]) -> str:
    """The log by way of the API server, which reaches the head's Service."""
    cluster, number = cells.at(job, ".status.rayClusterName"), cells.at(job, ".status.jobId")
    if not cluster or not number:
        raise Failed(f"it has not been submitted yet, its state is {_state(job)!r}")
    service = SERVICE.object_path(Key(job["metadata"]["namespace"], f"{cluster}-head-svc:dashboard"), "proxy")
    answer = await session.kube.fetch(f"{service}/api/jobs/{number}/logs")
    return msgspec.json.decode(answer, type=Said).logs
