"""Simulated Ray dashboards: each lives in a cluster's head pod, is reached by its Service, and dies with the pod."""

import asyncio
import random
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from manta_common.api.annotations import FT_ENABLED
from manta_common.api.labels import CLUSTER, NODE_TYPE
from manta_common.errors import Unreachable
from manta_common.keys import Key
from manta_common.kinds import SERVICE
from manta_embedded.sim import pods
from manta_embedded.sim.history import History
from manta_embedded.sim.rayjobs import JobScript, SubmittedJob, script_of
from manta_embedded.sim.troubles import Trouble
from manta_embedded.store.changes import Event
from manta_embedded.store.objects import Obj, is_terminating
from manta_embedded.store.store import Store

HEAD, PODS = "head", ("", "pods")
Scripts = Callable[[str, str], JobScript]  # of a submission id and an entrypoint


class Reply(msgspec.Struct, frozen=True):
    """An answer over HTTP."""

    status: int
    body: bytes
    content_type: str = "application/json"


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """How the dashboard of a cluster answers: late, never, or with an error."""

    delay_seconds: float = 0.0
    hangs: bool = False
    fails_with: int = 0


class Dashboard:
    """What one head remembers: the jobs that were submitted, and what Serve was told."""

    def __init__(
        self, now: Callable[[], float], script: Callable[[str, str], JobScript], chance: random.Random
    ) -> None:
        self._now, self._script, self._chance = now, script, chance
        self.jobs: dict[str, SubmittedJob] = {}
        self.serve_config: dict[str, Any] = {}
        self.application_status: dict[str, str] = {}

    def answer(self, method: str, path: str, body: bytes) -> Reply:
        """What Ray would answer."""
        job = re.fullmatch(r"/api/jobs/([^/]+)(/stop|/logs)?", path)
        match method, path:
            case "GET", "/api/version":
                return _json({"version": "4", "ray_version": "2.60.0", "ray_commit": "", "session_name": "session"})
            case "GET", "/api/gcs_healthz":
                return Reply(200, b"success", "text/plain")
            case "POST", "/api/jobs/":
                return self._submit(msgspec.json.decode(body))
            case "GET", "/api/jobs/":
                return _json([one.shown() for one in self.jobs.values()])
            case (("GET" | "PUT"), "/api/serve/applications/"):
                return self._serve(method, body)
        return self._about(method, job[1], job[2] or "") if job else Reply(404, b"404: Not Found", "text/plain")

    def _submit(self, given: dict[str, Any]) -> Reply:
        submission = {name: value for name, value in given.items() if value is not None}
        if "entrypoint" not in submission:
            return _failed(400, "TypeError: JobSubmitRequest.__init__() missing 1 required positional argument")
        name = (
            submission.get("submission_id")
            or submission.get("job_id")
            or f"raysubmit_{self._chance.getrandbits(64):016x}"
        )
        if name in self.jobs:
            return _failed(
                400, f"ValueError: Job with submission_id {name} already exists. Please use a different submission_id."
            )
        script = self._script(name, submission["entrypoint"])
        self.jobs[name] = SubmittedJob({**submission, "submission_id": name}, script, self._now)
        return _json({"job_id": name, "submission_id": name})

    def _new_id(self) -> str:
        return f"raysubmit_{self._chance.getrandbits(64):016x}"

    def _about(self, method: str, name: str, what: str) -> Reply:
        job = self.jobs.get(name)
        if job is None:
            return Reply(404, f"Job {name} does not exist".encode(), "text/plain")
        match method, what:
            case "GET", "":
                return _json(job.shown())
            case "GET", "/logs":
                return _json({"logs": job.logs()})
            case "POST", "/stop":
                stopped = not job.ended
                if stopped:
                    job.end("STOPPED")
                return _json({"stopped": stopped})
            case "DELETE", "":
                return self._delete(job)
        return Reply(405, b"405: Method Not Allowed", "text/plain")

    def _delete(self, job: SubmittedJob) -> Reply:
        if not job.ended:
            name = job.submission_id
            text = f"RuntimeError: Attempted to delete job '{name}', but it is in a non-terminal state {job.status}."
            return _failed(500, text)
        del self.jobs[job.submission_id]
        return _json({"deleted": True})

    def _serve(self, method: str, body: bytes) -> Reply:
        if method == "PUT":
            self.serve_config = msgspec.json.decode(body)
            return Reply(200, b"", "text/plain")
        shown = {one["name"]: self._application(one) for one in self.serve_config.get("applications") or ()}
        return _json({"applications": shown, "target_capacity": self.serve_config.get("target_capacity")})

    def _application(self, config: Mapping[str, Any]) -> dict[str, Any]:
        name = config.get("name", "default")
        status = self.application_status.get(name, "RUNNING")
        return {"name": name, "status": status, "message": "", "deployments": {}, "deployed_app_config": config}


class Dashboards:
    """All dashboards of a world, found as a client in the cluster would find them."""

    def __init__(self, store: Store, history: History, chance: random.Random) -> None:
        self._store, self._history, self._chance = store, history, chance
        self._alive: dict[Key, tuple[object, Dashboard]] = {}
        self._heads: dict[Key, Obj] = {}
        self._behaviours: dict[Key, Behaviour] = {}
        self._scripts: dict[str, JobScript] = {}
        self.luck: Callable[[str], Trouble] | None = None  # what befalls a request to a path on its way
        store.subscribe(self._note)

    def script(self, submission_id: str, script: JobScript) -> None:
        """How a job will run, whichever cluster it is submitted to; else its entrypoint tells."""
        self._scripts[submission_id] = script

    def behave(self, cluster: str, behaviour: Behaviour | None, namespace: str = "default") -> None:
        """How the dashboard of a cluster answers from now on; None: well."""
        key = Key(namespace, cluster)
        self._history.tell("dashboard", "behaves" if behaviour is None else "misbehaves", key, str(behaviour or ""))
        self._behaviours.pop(key, None)
        if behaviour is not None:
            self._behaviours[key] = behaviour

    def forget(self, cluster: str, namespace: str = "default") -> None:
        """The dashboard of a cluster forgets every job, as a head without external storage does when it restarts."""
        self._history.tell("dashboard", "forgets", Key(namespace, cluster))
        self._alive.pop(Key(namespace, cluster), None)

    def trouble(self, method: str, url: str) -> Trouble:
        """What goes wrong with a request on its way, or nothing; whoever carries requests asks for each of them."""
        path = urlsplit(url).path
        found = self.luck(path) if self.luck else Trouble()
        if found != Trouble():
            self._history.tell("net", f"{method} fails", path, f"{found.because}: {found}")
        return found

    def of(self, cluster: str, namespace: str = "default") -> Dashboard:
        """The dashboard of a cluster; Unreachable while its head is not ready."""
        key = Key(namespace, cluster)
        around = (pod for at, pod in self._heads.items() if at.namespace == namespace)
        head = next((pod for pod in around if _label(pod, CLUSTER) == cluster and _is_ready(pod)), None)
        if head is None:
            raise Unreachable(f"the head of {key} is not ready: connection refused")
        return self._dashboard(key, head)

    async def request(self, method: str, url: str, *, body: bytes = b"", limit_seconds: float = 10.0) -> Reply:
        """One request over HTTP to a Service by its name in the cluster; Unreachable when no answer comes in time."""
        try:
            async with asyncio.timeout(limit_seconds):
                return await self._answer(method, url, body)
        except TimeoutError as error:
            raise Unreachable(f"{method} {url}: no answer in time") from error

    async def _answer(self, method: str, url: str, body: bytes) -> Reply:
        parts = urlsplit(url)
        await asyncio.sleep(0.002)
        key = self._cluster(parts.hostname or "")
        behaviour = self._behaviours.get(key)
        if behaviour is not None:
            await asyncio.sleep(float("inf") if behaviour.hangs else behaviour.delay_seconds)
            if behaviour.fails_with:
                return Reply(behaviour.fails_with, b"told to fail", "text/plain")
        reply = self.of(key.name, key.namespace).answer(method, parts.path, body)
        if method != "GET":
            self._history.tell("dashboard", f"{method} {reply.status}", f"{key} {parts.path}")
        return reply

    def _cluster(self, host: str) -> Key:
        """The cluster whose head a Service, or an address, leads to."""
        name, _, rest = host.partition(".")
        namespace = rest.partition(".")[0] or "default"
        service = self._store.find(SERVICE, Key(namespace, name))
        wanted = (service or {}).get("spec", {}).get("selector") or {}
        for at, pod in self._heads.items():
            own = pod["metadata"].get("labels") or {}
            served = service and at.namespace == namespace and wanted.items() <= own.items()
            if (served or pod["status"].get("podIP") == host) and _is_ready(pod):
                return Key(at.namespace, own[CLUSTER])
        raise Unreachable(f"nobody answers at {host}: connection refused")

    def _note(self, event: Event) -> None:
        if event.storage == PODS and _label(event.new, NODE_TYPE) == HEAD:
            self._heads.pop(event.key, None)
            if event.type != "DELETED":
                self._heads[event.key] = event.new

    def _dashboard(self, key: Key, head: Obj) -> Dashboard:
        """What this life of the head remembers; with fault tolerance the next life remembers it too."""
        restarts = sum(one["restartCount"] for one in head["status"].get("containerStatuses") or ())
        tolerant = (head["metadata"].get("annotations") or {}).get(FT_ENABLED) == "true"
        life: object = "kept" if tolerant else (head["metadata"]["uid"], restarts)
        if key not in self._alive or self._alive[key][0] != life:
            self._alive[key] = life, Dashboard(self._seconds, self._scripted, self._chance)
        return self._alive[key][1]

    def _scripted(self, name: str, entrypoint: str) -> JobScript:
        return self._scripts.get(name) or script_of(entrypoint)

    def _seconds(self) -> float:
        return self._store.now().timestamp()


def _is_ready(pod: Obj) -> bool:
    """Ray's container, that is: a head's Service also leads to a pod that is not ready as a whole."""
    return pods.answers(pod) and not is_terminating(pod)


def _label(pod: Obj, label: str) -> str:
    return str((pod["metadata"].get("labels") or {}).get(label, ""))


def _json(body: Any) -> Reply:
    return Reply(200, msgspec.json.encode(body))


def _failed(inner_status: int, line: str) -> Reply:
    """Ray's head answers 500 to whatever its agent refuses, with the agent's status and traceback in the text."""
    inner = f"Request failed with status code {inner_status}: Traceback (most recent call last):\n{line}\n"
    text = f"Traceback (most recent call last):\nRuntimeError: {inner}.\n"
    return Reply(500, text.encode(), "text/plain")
