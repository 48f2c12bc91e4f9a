"""One pass of the Job controller over one Job: what has ended is counted, what is missing is created."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from manta_common.kinds import JOB, POD
from manta_embedded.store.controllers import follow, job_facts, job_pods
from manta_embedded.store.controllers.job_status import JobStatus
from manta_embedded.store.errors import StatusError
from manta_embedded.store.objects import Obj, is_terminating, metadata
from manta_embedded.store.store import Store
from manta_embedded.store.times import text_of

MOST_PODS_IN_A_PASS: Final = 500
MOST_RETRY_SECONDS: Final = 60


class End(NamedTuple):
    """Why a Job is over, or about to be; `interim` is the condition that says so before the last pod is gone."""

    interim: str
    reason: str
    message: str

    @property
    def is_success(self) -> bool:
        """Whether it ended well."""
        return self.interim == "SuccessCriteriaMet"


class Failures(NamedTuple):
    """How many pods have failed since one succeeded, when the last of them did, and how often one was refused."""

    number: int = 0
    last_at: datetime | None = None
    refusals: int = 0


COMPLETE: Final = End("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
TOO_MANY_FAILURES: Final = End("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
TOO_LATE: Final = End("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline")


class JobSync:
    """A Job, its pods and the failures known so far; `run` does one pass."""

    def __init__(self, store: Store, job: Obj, pods: list[Obj], failures: Failures) -> None:
        self._store, self._job, self._pods = store, job, pods
        self._spec, self._now = job["spec"], store.now()
        self._status = JobStatus(job.get("status") or {}, text_of(self._now))
        self._active = [pod for pod in pods if job_facts.is_active(pod)]
        self._active_count = len(self._active)
        self._ready = sum(job_facts.is_ready(pod) for pod in self._active)
        self._ending = sum(job_facts.is_ending(pod) for pod in pods)
        self.failures = failures
        self.again_at: datetime | None = None

    def run(self) -> None:
        """Do one pass; afterwards `failures` is to be kept, and `again_at` is when the next pass is due by time."""
        succeeded, failed = self._newly_ended()
        self.failures = _failures(self.failures, succeeded, failed)
        successes = self._status.count("succeeded") + len(succeeded) + len(self._status.succeeded)
        failures = self._status.count("failed") + len(failed) + len(self._status.failed)
        if self._status.get("startTime") is None and not job_facts.is_suspended(self._job):
            self._status.start()
        end = self._end(failures)
        if end is not None:
            self._stop_pods()
        elif not is_terminating(self._job):
            end = self._go_on(successes)
        self._put_numbers()
        self._account(end)

    def _newly_ended(self) -> tuple[list[Obj], list[Obj]]:
        tracked = [pod for pod in self._pods if job_facts.is_tracked(pod)]
        succeeded = [
            pod
            for pod in tracked
            if job_facts.phase(pod) == "Succeeded" and follow.uid_of(pod) not in self._status.succeeded
        ]
        failed = [
            pod
            for pod in tracked
            if job_facts.has_failed(pod, self._job) and follow.uid_of(pod) not in self._status.failed
        ]
        return succeeded, failed

    def _end(self, failures: int) -> End | None:
        """Whether the Job is over: as decided before, by its failures, or by its deadline."""
        decided = job_facts.condition(self._job, "SuccessCriteriaMet", "FailureTarget")
        if decided is not None:
            return End(decided["type"], decided["reason"], decided["message"])
        if failures > self._spec["backoffLimit"] or job_facts.has_used_up_restarts(self._job, self._pods):
            return TOO_MANY_FAILURES
        deadline = self._deadline()
        if deadline is not None and self._now >= deadline:
            return TOO_LATE
        self.again_at = deadline
        return None

    def _deadline(self) -> datetime | None:
        seconds, start = self._spec.get("activeDeadlineSeconds"), self._status.get("startTime")
        if seconds is None or start is None or job_facts.is_suspended(self._job):
            return None
        return job_facts.moment(start) + timedelta(seconds=seconds)

    def _go_on(self, successes: int) -> End | None:
        self._manage(successes)
        completions = self._spec.get("completions")
        wanted = 1 if completions is None else completions
        if successes >= wanted and self._active_count == 0:
            return COMPLETE
        self._tell_suspension()
        return None

    def _tell_suspension(self) -> None:
        if job_facts.is_suspended(self._job):
            if self._status.condition("Suspended", "JobSuspended", "Job suspended"):
                self._status.forget_start()
        elif self._status.condition("Suspended", "JobResumed", "Job resumed", status="False"):
            self._status.start()

    def _manage(self, successes: int) -> None:
        """Bring the number of active pods to what is wanted: in one pass either less or more."""
        wanted = self._wanted(successes)
        if self._active_count > wanted:
            surplus = sorted(self._active, key=job_facts.removal_order)[: self._active_count - wanted]
            for pod in surplus[:MOST_PODS_IN_A_PASS]:
                job_pods.release(self._store, pod)
                self._delete(pod)
            return
        ending = self._ending if job_facts.waits_for_the_end(self._job) else 0
        missing = wanted - ending - self._active_count
        if missing > 0:
            self._create(min(missing, MOST_PODS_IN_A_PASS))

    def _wanted(self, successes: int) -> int:
        if job_facts.is_suspended(self._job):
            return 0
        parallelism, completions = self._spec["parallelism"], self._spec.get("completions")
        if completions is None:
            return self._active_count if successes else int(parallelism)
        return max(0, min(int(completions) - successes, int(parallelism)))

    def _create(self, count: int) -> None:
        """Create pods, once the pause after the last failure is over; the first refusal ends the attempt for now."""
        if self.failures.last_at is not None:
            over_at = self.failures.last_at + job_facts.backoff(self.failures.number)
            if over_at > self._now:
                self._again(over_at)
                return
        for _ in range(count):
            try:
                self._store.create(POD, metadata(self._job)["namespace"], job_pods.new_pod(self._job), follow.WRITER)
            except StatusError:
                self._again(self._now + timedelta(seconds=min(2**self.failures.refusals, MOST_RETRY_SECONDS)))
                self.failures = self.failures._replace(refusals=self.failures.refusals + 1)
                return
            self._active_count += 1
        self.failures = self.failures._replace(refusals=0)

    def _stop_pods(self) -> None:
        for pod in self._active:
            self._delete(pod)

    def _delete(self, pod: Obj) -> None:
        job_pods.delete(self._store, pod)
        self._active_count -= 1
        self._ending += 1
        self._ready -= job_facts.is_ready(pod)

    def _put_numbers(self) -> None:
        if self._active_count != self._status.count("active"):
            self._status.put("active", self._active_count)
        self._status.put("ready", self._ready)
        self._status.put("terminating", self._ending)

    def _account(self, end: End | None) -> None:
        """Note pods that ended, let them go, count them; then, with none left to end, say that the Job is over."""
        held = {follow.uid_of(pod) for pod in self._pods if job_facts.is_tracked(pod)}
        self._status.count_all_but(held)
        leaving = [pod for pod in self._pods if job_facts.is_tracked(pod) and self._may_leave(pod, end)]
        for pod in leaving:
            self._note(pod, end)
        if end is not None and not self._status.has(end.interim):
            self._status.condition(end.interim, end.reason, end.message)
        self._flush()
        for pod in leaving:
            job_pods.release(self._store, pod)
        self._status.count_all_but(held - {follow.uid_of(pod) for pod in leaving})
        if end is not None and not self._ending:
            self._finish(end)
        self._flush()

    def _may_leave(self, pod: Obj, end: End | None) -> bool:
        if end is not None or is_terminating(self._job):
            return True
        return job_facts.phase(pod) == "Succeeded" or job_facts.has_failed(pod, self._job)

    def _note(self, pod: Obj, end: End | None) -> None:
        uid = follow.uid_of(pod)
        if job_facts.phase(pod) == "Succeeded" and uid not in self._status.failed:
            self._status.note("succeeded", uid)
        elif job_facts.has_failed(pod, self._job) or (end is not None and not end.is_success):
            self._status.note("failed", uid)

    def _finish(self, end: End) -> None:
        self._status.condition("Complete" if end.is_success else "Failed", end.reason, end.message)
        if end.is_success:
            self._status.put("completionTime", text_of(self._now))

    def _flush(self) -> None:
        """Write the status, if it has changed."""
        current = self._store.find(JOB, follow.key_of(self._job))
        if not self._status.changed or current is None or follow.uid_of(current) != follow.uid_of(self._job):
            return
        body = {**current, "status": self._status.written()}
        self._store.update(JOB, follow.key_of(self._job), body, follow.WRITER, subresource="status")
        self._status.changed = False

    def _again(self, moment: datetime) -> None:
        self.again_at = moment if self.again_at is None else min(self.again_at, moment)


def _failures(known: Failures, succeeded: list[Obj], failed: list[Obj]) -> Failures:
    """A success makes the failures before it forgotten."""
    ends = sorted(job_facts.finished_at(pod) for pod in failed)
    if succeeded:
        last_success_at = max(job_facts.finished_at(pod) for pod in succeeded)
        ends = [end for end in ends if end > last_success_at]
        return known._replace(number=len(ends), last_at=ends[-1] if ends else None)
    return known._replace(number=known.number + len(ends), last_at=ends[-1]) if ends else known
