"""Tells users what is done about one object, in the name of the controller that they know from KubeRay."""

from collections.abc import Awaitable
from typing import Final

from manta_common.deeds import Severity, Tell, Words
from manta_common.errors import Conflict, MantaError, NotCaughtUp, Throttled
from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube.events import Recorder, reference
from manta_common.kube.series import Notice

QUIET: Final = (NotCaughtUp, Conflict, Throttled)  # somebody was faster, or asks to wait: nothing to tell users of


class Voice:
    """Records events about one object."""

    def __init__(self, recorder: Recorder, controller: str, *, kind: Kind, key: Key, uid: str) -> None:
        self._recorder, self._controller, self._namespace = recorder, controller, key.namespace
        self._about = reference(kind, key, uid)

    def tell(self, action: Tell) -> None:
        """An event that was decided on."""
        self._record(action.severity, action.reason, action.action, action.note)

    async def telling(self, words: Words, name: str, act: Awaitable[object]) -> None:
        """Carry something out and tell how it went, unless there was nothing to do (False)."""
        place = f"{self._namespace}/{name}"
        try:
            has_acted = await act is not False
        except QUIET:
            raise
        except MantaError as error:
            note = words.failed_note.format(place=place, error=error)
            self._record("Warning", words.failed_reason, words.action, note)
            raise
        if has_acted:
            self._record("Normal", words.reason, words.action, words.note.format(place=place))

    def _record(self, severity: Severity, reason: str, action: str, note: str) -> None:
        notice = Notice(controller=self._controller, type=severity, reason=reason, action=action, note=note)
        self._recorder.record(self._about, notice)
