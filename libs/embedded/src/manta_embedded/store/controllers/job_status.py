"""The status of a Job: counts, conditions and times, each changed in one place."""

from collections.abc import Iterable
from typing import Any

from manta_embedded.store.objects import Obj


class JobStatus:
    """The status of a Job as it is being worked out. Changes are noted; what it was given is not changed."""

    def __init__(self, status: Obj, now: str) -> None:
        uncounted = status.get("uncountedTerminatedPods") or {}
        self._fields = dict(status)
        self._now = now
        self.succeeded: list[str] = list(uncounted.get("succeeded", ()))
        self.failed: list[str] = list(uncounted.get("failed", ()))
        self.changed = False

    def get(self, name: str) -> Any:
        """A field; None where there is none."""
        return self._fields.get(name)

    def count(self, name: str) -> int:
        """A number that is left out while it is zero."""
        return int(self._fields.get(name) or 0)

    def put(self, name: str, value: Any) -> None:
        """Set a field."""
        if self._fields.get(name) != value:
            self._fields[name] = value
            self.changed = True

    def start(self) -> None:
        """Begin to count the time now."""
        self._fields["startTime"] = self._now

    def forget_start(self) -> None:
        """Count no time."""
        self._fields.pop("startTime", None)

    def note(self, name: str, uid: str) -> None:
        """Remember a pod that ended until it is let go; only then it is counted."""
        waiting = self.succeeded if name == "succeeded" else self.failed
        if uid not in waiting:
            waiting.append(uid)
            self.changed = True

    def count_all_but(self, held: Iterable[str]) -> None:
        """Count the remembered pods that are not held any more."""
        kept = set(held)
        for name, waiting in (("succeeded", self.succeeded), ("failed", self.failed)):
            gone = [uid for uid in waiting if uid not in kept]
            if gone:
                self.put(name, self.count(name) + len(gone))
                waiting[:] = [uid for uid in waiting if uid in kept]

    def condition(self, name: str, reason: str, message: str, *, status: str = "True") -> bool:
        """Have a condition say this; whether that is new. One that was never true does not become false."""
        conditions: list[Obj] = list(self._fields.get("conditions") or ())
        place = next((place for place, one in enumerate(conditions) if one["type"] == name), None)
        said = {"type": name, "status": status, "reason": reason, "message": message}
        if place is None and status == "False":
            return False
        if place is not None and {field: conditions[place].get(field) for field in said} == said:
            return False
        written = {**said, "lastProbeTime": self._now, "lastTransitionTime": self._now}
        conditions = (
            [*conditions, written] if place is None else [*conditions[:place], written, *conditions[place + 1 :]]
        )
        self.put("conditions", conditions)
        return True

    def has(self, name: str) -> bool:
        """Whether there is a condition of a type, true or not."""
        return any(one["type"] == name for one in self._fields.get("conditions") or ())

    def written(self) -> Obj:
        """The status to write; numbers that are zero are left out, but for those that always stand."""
        uncounted = {
            name: list(uids) for name, uids in (("succeeded", self.succeeded), ("failed", self.failed)) if uids
        }
        left_out = {name for name in ("active", "succeeded", "failed") if not self._fields.get(name)}
        kept = {name: value for name, value in self._fields.items() if name not in left_out}
        return {**kept, "uncountedTerminatedPods": uncounted}
