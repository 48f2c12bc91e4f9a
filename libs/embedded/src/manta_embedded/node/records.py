"""What the node knows of the containers of a pod, from which their statuses are made."""

import asyncio
from typing import Any

from manta_embedded.store.objects import Obj

LOST = {
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
    "startedAt": None,
    "finishedAt": None,
}
CREATING = {"waiting": {"reason": "ContainerCreating"}}
INITIALIZING = {"waiting": {"reason": "PodInitializing"}}


class Record:
    """One container: its present state and the one before."""

    def __init__(self, container: Obj, *, init: bool, status: Obj | None = None) -> None:
        self.name, self.container, self.init = container["name"], container, init
        self.sidecar = init and container.get("restartPolicy") == "Always"
        self.state: dict[str, Any] = {"waiting": {"reason": "PodInitializing" if init else "ContainerCreating"}}
        self.last_state: dict[str, Any] = {}
        self.restarts = 0
        self.ready = False
        self.has_started, self.has_stopped = asyncio.Event(), asyncio.Event()
        self.has_stopped.set()
        self.container_id = ""
        if status is not None:
            self._recall(status)

    @property
    def started(self) -> bool:
        """Whether its process runs and has passed its startup probe."""
        return self.has_started.is_set()

    @property
    def running(self) -> bool:
        """Whether its process runs."""
        return "running" in self.state

    @property
    def ended(self) -> Obj | None:
        """How it ended, if it has."""
        found: Obj | None = self.state.get("terminated")
        return found

    @property
    def succeeded(self) -> bool:
        """Whether it has ended well."""
        return self.ended is not None and self.ended["exitCode"] == 0

    def waits(self, reason: str, message: str = "") -> None:
        """It does not run, and why."""
        if self.ended is not None:
            self.last_state = self.state
        self.state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        self._stops()

    def runs(self, at: str, container_id: str) -> None:
        """It has been started."""
        if self.ended is not None:
            self.last_state = self.state
        self.state, self.container_id = {"running": {"startedAt": at}}, container_id
        self.has_stopped.clear()

    def ends(self, exit_code: int, reason: str, *, times: tuple[str, str], message: str = "") -> None:
        """Its process is gone."""
        started_at, finished_at = times
        found = {"exitCode": exit_code, "reason": reason, "startedAt": started_at, "finishedAt": finished_at}
        found |= {"containerID": self.container_id} if self.container_id else {}
        self.state = {"terminated": {**found, **({"message": message} if message else {})}}
        self._stops()

    def _stops(self) -> None:
        self.ready = False
        self.has_started.clear()
        self.has_stopped.set()

    def _recall(self, status: Obj) -> None:
        """From the status that an earlier life of the node wrote: what ran then is lost."""
        self.restarts, self.last_state = status.get("restartCount", 0), status.get("lastState") or {}
        self.container_id = status.get("containerID", "")
        state = status.get("state") or {}
        if "running" in state:
            since = state["running"].get("startedAt")
            self.state = {"terminated": {**LOST, "startedAt": since, "finishedAt": since}}
        elif "terminated" in state:
            self.state = state
