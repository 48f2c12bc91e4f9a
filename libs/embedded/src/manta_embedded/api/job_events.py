"""What happens to jobs, told as events, as the Job controller of a cluster tells it."""

from datetime import datetime

import msgspec

from manta_common.kinds import JOB, POD
from manta_embedded.store import naming
from manta_embedded.store.builtin import CORE_EVENT
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers.agenda import Agenda
from manta_embedded.store.errors import StatusError
from manta_embedded.store.objects import EMPTY, Obj, at_path
from manta_embedded.store.store import Store
from manta_embedded.store.times import text_of
from manta_embedded.store.writers import Writer

CONTROLLER = "job-controller"
TOLD = {"Complete": ("Completed", "Job completed"), "Suspended": ("Suspended", "Job suspended")}


class Happening(msgspec.Struct, frozen=True):
    """One event that is to be told."""

    namespace: str
    name: str
    uid: str
    reason: str
    message: str
    type: str = "Normal"


class JobEvents:
    """A controller."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._agenda: Agenda[Happening] = Agenda()
        store.subscribe(self._note)

    def step(self) -> bool:
        """Tell one; False when there is none."""
        told = self._agenda.take(self._store.now())
        if told is None:
            return False
        try:
            self._store.create(CORE_EVENT, told.namespace, self._event(told), Writer("kube-controller-manager"))
        except StatusError as error:
            if error.code not in (403, 404):  # its namespace is going or gone
                raise
        return True

    def due(self) -> datetime | None:
        """When there is work."""
        return self._agenda.due(self._store.now())

    def _note(self, event: Event) -> None:
        if event.storage == (JOB.group, JOB.plural) and event.old is not None and event.type != "DELETED":
            self._job_changed(event.old, event.new)
        elif event.storage == (POD.group, POD.plural) and event.type == "ADDED":
            self._pod_made(event.new)

    def _job_changed(self, old: Obj, new: Obj) -> None:
        before, after = _true(old), _true(new)
        for name in sorted(set(after) - set(before)):
            reason, message = TOLD.get(name, ("", ""))
            if name == "Failed":
                self._tell(new, after[name].get("reason", ""), after[name].get("message", ""), "Warning")
            elif reason:
                self._tell(new, reason, message)
        if "Suspended" in before and "Suspended" not in after:
            self._tell(new, "Resumed", "Job resumed")

    def _pod_made(self, pod: Obj) -> None:
        meta = pod["metadata"]
        for owner in meta.get("ownerReferences") or ():
            if owner["kind"] == "Job" and owner.get("controller"):
                job = {"metadata": {"namespace": meta["namespace"], "name": owner["name"], "uid": owner["uid"]}}
                self._tell(job, "SuccessfulCreate", f"Created pod: {meta['name']}")

    def _tell(self, job: Obj, reason: str, message: str, kind: str = "Normal") -> None:
        meta = job["metadata"]
        self._agenda.add(Happening(meta["namespace"], meta["name"], meta["uid"], reason, message, kind))

    def _event(self, told: Happening) -> Obj:
        now = text_of(self._store.now())
        about = {"kind": "Job", "namespace": told.namespace, "name": told.name, "uid": told.uid}
        return {
            "metadata": {"name": naming.made_up(self._store.rng, f"{told.name}.")},
            "involvedObject": {**about, "apiVersion": "batch/v1"},
            "reason": told.reason,
            "message": told.message,
            "type": told.type,
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": CONTROLLER},
            "reportingComponent": CONTROLLER,
        }


def _true(job: Obj) -> dict[str, Obj]:
    conditions = at_path(job, "status.conditions") or ()
    return {one["type"]: one for one in conditions if (one or EMPTY).get("status") == "True"}
