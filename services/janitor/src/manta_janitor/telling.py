"""Tells users what was done: events about RayJobs and RayClusters, in KubeRay's name."""

from typing import Final, Literal

from manta_common.errors import Conflict, NotCaughtUp, NotFound, Throttled
from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube.events import Recorder, reference
from manta_common.kube.series import Notice

CONTROLLERS: Final = {"RayJob": "rayjob-controller", "RayCluster": "raycluster-controller"}
QUIET: Final = (NotCaughtUp, Conflict, Throttled, NotFound)  # part of the plan: nobody is told


class Teller:
    """Tells of one kind of objects."""

    def __init__(self, recorder: Recorder, kind: Kind) -> None:
        self._recorder, self._kind = recorder, kind

    def did(self, key: Key, uid: str, *, reason: str, note: str) -> None:
        """Something was done about an object."""
        self._record(key, uid, "Normal", reason=reason, note=note)

    def failed(self, key: Key, uid: str, *, reason: str, note: str) -> None:
        """Something could not be done, or not as it should be."""
        self._record(key, uid, "Warning", reason=reason, note=note)

    def _record(self, key: Key, uid: str, severity: Literal["Normal", "Warning"], *, reason: str, note: str) -> None:
        controller, action = CONTROLLERS[self._kind.kind], _action(reason)
        notice = Notice(controller=controller, type=severity, reason=reason, action=action, note=note)
        self._recorder.record(reference(self._kind, key, uid), notice)


def _action(reason: str) -> str:
    """KubeRay's word for what an event is about."""
    if reason.startswith("Force"):
        return "Cleanup"
    return next((word for word in ("Delete", "Update", "Create") if word in reason), "Cleanup")
