"""Run a command as a RayJob: `manta submit -- python my.py` writes it, runs it, streams its log and ends as it ends."""

import argparse
import asyncio
import re
from typing import Any, Final

from manta_cli.composing import RAY_VERSION, config_maps, gathered, job_name, rayjob
from manta_cli.failures import Failed
from manta_cli.logs import is_over, log
from manta_cli.session import Session, add_cluster
from manta_cli.watch import state
from manta_common.errors import MantaError
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, RAYJOB
from manta_common.kube.protocol import MergePatch

POLL_SECONDS: Final = 1.0
_EXIT_CODE: Final = re.compile(r"exit code (\d+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta submit`."""
    parser.usage = "manta submit [FLAG ...] -- COMMAND [ARGUMENT ...]"
    parser.add_argument("entrypoint", metavar="COMMAND", nargs="+", help="what to run; files it names are sent along")
    parser.add_argument("--name", default="", help="of the RayJob; made from the command by default")
    parser.add_argument(
        "--cluster", metavar="NAME", default="", help="an existing RayCluster; else one is made for the job"
    )
    parser.add_argument("--image", default="", help="of Ray's pods; the official one by default")
    parser.add_argument("--ray-version", metavar="V", default=RAY_VERSION, help=f"{RAY_VERSION} by default")
    parser.add_argument("--workers", metavar="N", type=_count, default=0, help="pods beside the head; none by default")
    parser.add_argument("--cpu", default="1", help="of each pod; 1 by default")
    parser.add_argument("--memory", default="2Gi", help="of each pod; 2Gi by default")
    parser.add_argument("--file", metavar="FILE", action="append", default=[], help="a further file to send along")
    parser.add_argument("--runtime-env", metavar="FILE", default="", help="Ray's runtime environment, as YAML or JSON")
    parser.add_argument("--keep", action="store_true", help="leave the cluster when the job has ended")
    parser.add_argument("--no-wait", action="store_true", help="return as soon as the job is made")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be made")
    add_cluster(parser)


async def submit(session: Session) -> int:
    """Make the job and follow it; the exit code of the command, or 1 when it never ran."""
    options = session.options
    name = job_name(options)
    files = gathered(options)
    manifest = rayjob(options, name, files)
    if options.dry_run:
        session.console.document(
            {"apiVersion": "v1", "kind": "List", "items": [*config_maps(name, files), manifest]}, "yaml"
        )
        return 0
    key = Key(session.namespace, name)
    await _make(session, key, manifest, files)
    session.console.tell(f"rayjob/{name} created in namespace {session.namespace}")
    if options.no_wait:
        return 0
    try:
        return await _followed(session, key)
    except asyncio.CancelledError:
        session.console.tell(
            f"the job goes on: `manta logs {name} -f` follows it, `manta delete rayjob {name}` ends it"
        )
        raise


async def _make(session: Session, key: Key, manifest: dict[str, Any], files: dict[str, str]) -> None:
    """First what the job needs, then the job, which then owns it."""
    for body in config_maps(key.name, files):
        await session.kube.create(CONFIGMAP, key.namespace, body, dict)
    made = await session.kube.create(RAYJOB, key.namespace, manifest, dict)
    owner = {"apiVersion": RAYJOB.api_version, "kind": RAYJOB.kind, "name": key.name, "uid": made["metadata"]["uid"]}
    for body in config_maps(key.name, files):
        place = Key(key.namespace, body["metadata"]["name"])
        await session.kube.patch(CONFIGMAP, place, MergePatch({"metadata": {"ownerReferences": [owner]}}), dict)


async def _followed(session: Session, key: Key) -> int:
    """Show states as they change and the log as it comes, to the end."""
    async with asyncio.TaskGroup() as group:
        streaming = group.create_task(_stream(session, key))
        job = await _ended(session, key)
        await asyncio.wait([streaming], timeout=10 * POLL_SECONDS)
        streaming.cancel()
    session.console.tell(f"rayjob/{key.name}: {_summary(job)}")
    return exit_code(job)


async def _stream(session: Session, key: Key) -> None:
    try:
        async for chunk in log(session, key, follow=True):
            session.console.write(chunk)
    except (Failed, MantaError) as error:
        session.console.tell(f"manta submit: no log: {error}")


async def _ended(session: Session, key: Key) -> dict[str, Any]:
    said = ""
    while True:
        job: dict[str, Any] = await session.kube.get(RAYJOB, key, dict)
        now = state(RAYJOB, job)
        if now != said:
            said = now
            session.console.tell(f"rayjob/{key.name}: {now}")
        if is_over(job):
            return job
        await asyncio.sleep(POLL_SECONDS)


def exit_code(job: dict[str, Any]) -> int:
    """0 when the job succeeded, else the command's own code if Ray told it, else 1."""
    status = job.get("status", {})
    if status.get("jobStatus") == "SUCCEEDED":
        return 0
    told = _EXIT_CODE.search(status.get("message", ""))
    return min(int(told.group(1)), 255) or 1 if told else 1


def _summary(job: dict[str, Any]) -> str:
    status = job.get("status", {})
    words = (status.get("jobStatus"), status.get("reason"), status.get("message"))
    return ", ".join(word for word in words if word) or "ended"


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("it must be 0 or more")
    return number
