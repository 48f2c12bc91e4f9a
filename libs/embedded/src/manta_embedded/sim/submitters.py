"""What a submitter does, alone in a pod or beside a head: it waits for its dashboard, submits its job, follows it."""

import asyncio
import re
from collections.abc import Awaitable, Callable

import msgspec

from manta_common.errors import Unreachable
from manta_embedded.sim.dashboards import Reply
from manta_embedded.sim.nodes import PodScript
from manta_embedded.store.objects import Obj

COMMAND = re.compile(
    r"ray job submit --address (?P<address>\S+) (?P<flags>.*?)-- (?P<entrypoint>.*?)( ; fi ;| ;|$)", re.DOTALL
)
SUBMISSION_ID = re.compile(r"--submission-id[= ](\S+)")
ENDED = {"SUCCEEDED": 0, "FAILED": 1, "STOPPED": 1}
AGAIN_SECONDS = 2.0
SCRIPT_SECONDS = 0.1
OWN = re.compile(r"//(127\.0\.0\.1|localhost)\b")
Ask = Callable[[str, str, bytes], Awaitable[Reply]]  # method, URL and body


class Submitters:
    """Plays the pods with a container whose command is Ray's command line; a rule for `Nodes`."""

    def __init__(self, ask: Ask) -> None:
        self._ask_ray = ask

    def __call__(self, pod: Obj) -> PodScript | None:
        """How a pod fares, if it is a submitter, or has one beside others."""
        found = _submitter(pod)
        if found is None:
            return None
        is_alone = len(pod["spec"]["containers"]) == 1
        return PodScript(ready_seconds=SCRIPT_SECONDS, program=self._run, container="" if is_alone else found[0])

    def beside(self, pod: Obj) -> PodScript | None:
        """The same, only where it is beside others."""
        found = self(pod)
        return found if found and found.container else None

    async def _run(self, pod: Obj) -> int:
        submitter = _submitter(pod)
        assert submitter is not None
        command = submitter[1]
        found = SUBMISSION_ID.search(command["flags"])
        job, address = found[1] if found else "", OWN.sub(f"//{pod['status']['podIP']}", command["address"])
        await self._until_healthy(address)
        if not job or (await self._ask("GET", f"{address}/api/jobs/{job}")).status != 200:
            body = msgspec.json.encode({"submission_id": job or None, "entrypoint": command["entrypoint"]})
            reply = await self._ask("POST", f"{address}/api/jobs/", body)
            if reply.status != 200:
                return 1
            job = msgspec.json.decode(reply.body)["submission_id"]
        return await self._follow(f"{address}/api/jobs/{job}")

    async def _until_healthy(self, address: str) -> None:
        while (await self._ask("GET", f"{address}/api/gcs_healthz")).status != 200:  # noqa: ASYNC110  as the pod does
            await asyncio.sleep(AGAIN_SECONDS)

    async def _follow(self, url: str) -> int:
        """Until the job has ended; a job that Ray knows no more is a failure, as is a Ray that is gone."""
        while True:
            reply = await self._ask("GET", url)
            if reply.status != 200:
                return 1
            status = msgspec.json.decode(reply.body)["status"]
            if status in ENDED:
                return ENDED[status]
            await asyncio.sleep(AGAIN_SECONDS / 4)

    async def _ask(self, method: str, url: str, body: bytes = b"") -> Reply:
        try:
            return await self._ask_ray(method, url, body)
        except Unreachable as error:
            return Reply(0, str(error).encode())


def _submitter(pod: Obj) -> tuple[str, re.Match[str]] | None:
    """The container that submits, and its command."""
    texts = ((one["name"], text) for one in pod["spec"]["containers"] for text in one.get("args") or ())
    return next(((name, found) for name, text in texts if (found := COMMAND.search(text))), None)
