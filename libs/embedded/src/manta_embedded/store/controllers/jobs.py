"""The Job controller, and the one that deletes finished Jobs when their time is over.

Jobs of completion mode Indexed and rules of a pod failure policy are not known here.
"""

from datetime import datetime, timedelta
from typing import Final

from manta_common.keys import Key
from manta_common.kinds import JOB, POD
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers import follow, job_facts, job_pods
from manta_embedded.store.controllers.agenda import Agenda
from manta_embedded.store.controllers.job_sync import Failures, JobSync
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.objects import Obj, is_terminating
from manta_embedded.store.store import Store

JOBS: Final = (JOB.group, JOB.plural)
PODS: Final = (POD.group, POD.plural)


class Jobs:
    """Looks at one Job, or at one pod that has lost its Job, in a step."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._agenda: Agenda[Key] = Agenda()
        self._lost: Agenda[Key] = Agenda()
        self._pods: dict[str, dict[Key, None]] = {}  # of each Job's uid
        self._failures: dict[str, Failures] = {}
        follow.follow(store, self._note)

    def step(self) -> bool:
        """Look at the next Job or lost pod; False when there is none to look at."""
        now = self._store.now()
        key = self._agenda.take(now)
        if key is not None:
            self._look_at(key)
            return True
        lost = self._lost.take(now)
        if lost is not None:
            self._let_go(lost)
        return lost is not None

    def due(self) -> datetime | None:
        """When there is something to look at."""
        now = self._store.now()
        moments = [agenda.due(now) for agenda in (self._agenda, self._lost)]
        return min((moment for moment in moments if moment is not None), default=None)

    def _note(self, event: Event) -> None:
        if event.storage == JOBS:
            self._agenda.add(event.key)
            if event.type == "DELETED":
                self._forget(follow.uid_of(event.new))
        elif event.storage == PODS:
            self._note_pod(event)

    def _note_pod(self, event: Event) -> None:
        owner = follow.controller_of(event.new)
        if owner is None or owner["kind"] != "Job":
            if job_facts.is_tracked(event.new):
                self._lost.add(event.key)
            return
        pods = self._pods.setdefault(owner["uid"], {})
        if event.type == "DELETED":
            pods.pop(event.key, None)
        else:
            pods[event.key] = None
        self._agenda.add(Key(event.key.namespace, owner["name"]))
        if self._owner(event.key.namespace, owner) is None:
            self._lost.add(event.key)

    def _forget(self, uid: str) -> None:
        self._failures.pop(uid, None)
        for key in self._pods.pop(uid, ()):
            self._lost.add(key)

    def _look_at(self, key: Key) -> None:
        job = self._store.find(JOB, key)
        if job is None or job_facts.is_external(job) or job["spec"].get("completionMode") == "Indexed":
            return
        uid = follow.uid_of(job)
        pods = [pod for name in self._pods.get(uid, ()) if (pod := self._store.find(POD, name))]
        if job_facts.is_finished(job):
            self._failures.pop(uid, None)
            for pod in pods:
                if job_facts.is_tracked(pod):
                    job_pods.release(self._store, pod)
            return
        sync = JobSync(self._store, job, pods, self._failures.get(uid, Failures()))
        sync.run()
        self._failures[uid] = sync.failures
        if sync.again_at is not None:
            self._agenda.add_at(key, sync.again_at)

    def _let_go(self, key: Key) -> None:
        """No Job will ever count this pod."""
        pod = self._store.find(POD, key)
        if pod is None or not job_facts.is_tracked(pod):
            return
        owner = follow.controller_of(pod)
        if owner is None or (owner["kind"] == "Job" and self._owner(key.namespace, owner) is None):
            job_pods.release(self._store, pod)

    def _owner(self, namespace: str, owner: Obj) -> Obj | None:
        job = self._store.find(JOB, Key(namespace, owner["name"]))
        return job if job is not None and follow.uid_of(job) == owner["uid"] else None


class FinishedJobs:
    """Deletes Jobs that have ended and lived on for as long as they should (`ttlSecondsAfterFinished`)."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._agenda: Agenda[Key] = Agenda()
        follow.follow(store, self._note)

    def step(self) -> bool:
        """Look at the next Job; False when there is none to look at."""
        now = self._store.now()
        key = self._agenda.take(now)
        if key is None:
            return False
        job = self._store.find(JOB, key)
        expiry = _expiry(job) if job is not None else None
        if job is not None and expiry is not None:
            if expiry > now:
                self._agenda.add_at(key, expiry)
            else:
                self._store.delete(JOB, key, Deletion(uid=follow.uid_of(job), propagation="Foreground"))
        return True

    def due(self) -> datetime | None:
        """When there is something to look at."""
        return self._agenda.due(self._store.now())

    def _note(self, event: Event) -> None:
        if event.storage == JOBS and event.type != "DELETED" and _expiry(event.new) is not None:
            self._agenda.add(event.key)


def _expiry(job: Obj) -> datetime | None:
    seconds, end = job["spec"].get("ttlSecondsAfterFinished"), job_facts.condition(job, "Complete", "Failed")
    if seconds is None or end is None or is_terminating(job):
        return None
    return job_facts.moment(end["lastTransitionTime"]) + timedelta(seconds=seconds)
