"""CustomResourceDefinitions take their objects along when they go."""

from datetime import datetime
from typing import Final

from manta_common.keys import Key
from manta_common.kinds import CRD
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers import follow
from manta_embedded.store.controllers.agenda import Agenda
from manta_embedded.store.deletion import CLEANUP, Deletion
from manta_embedded.store.objects import Obj, is_terminating, metadata, with_metadata
from manta_embedded.store.store import Store
from manta_embedded.store.times import text_of

STORAGE: Final = (CRD.group, CRD.plural)
GOING: Final = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
GONE: Final = ("False", "InstanceDeletionCompleted", "removed all instances")


class Definitions:
    """Looks at one definition in a step."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._agenda: Agenda[Key] = Agenda()
        self._going: dict[follow.Storage, Key] = {}
        follow.follow(store, self._note)

    def step(self) -> bool:
        """Look at the next definition; False when there is none to look at."""
        key = self._agenda.take(self._store.now())
        definition = self._store.find(CRD, key) if key is not None else None
        if definition is not None:
            self._look_at(definition)
        return key is not None

    def due(self) -> datetime | None:
        """When there is something to look at."""
        return self._agenda.due(self._store.now())

    def _note(self, event: Event) -> None:
        if event.storage == STORAGE:
            storage = _defined(event.new)
            if event.type == "DELETED":
                self._going.pop(storage, None)
                return
            if is_terminating(event.new):
                self._going[storage] = event.key
                self._agenda.add(event.key)
        elif event.type == "DELETED" and event.storage in self._going:
            self._agenda.add(self._going[event.storage])

    def _look_at(self, definition: Obj) -> None:
        finalizers = metadata(definition).get("finalizers", [])
        if CLEANUP not in finalizers:
            return
        definition = self._tell(definition, GOING)
        if not self._emptied(_defined(definition)):
            definition = self._tell(definition, GONE)
            kept = [one for one in finalizers if one != CLEANUP]
            body = with_metadata(definition, finalizers=kept or None)
            self._store.update(CRD, follow.key_of(definition), body, follow.WRITER)

    def _emptied(self, storage: follow.Storage) -> int:
        """Delete all objects of a definition; how many are still there."""
        served = follow.resource(self._store, storage)
        bucket = self._store.bucket(storage)
        for _, obj in list(bucket.all()):
            if served is not None and not is_terminating(obj):
                self._store.delete(served.kind, follow.key_of(obj), Deletion(propagation="Background"))
        return len(bucket)

    def _tell(self, definition: Obj, said: tuple[str, str, str]) -> Obj:
        status, reason, message = said
        conditions = definition["status"].get("conditions", [])
        kept = [one for one in conditions if one["type"] != "Terminating"]
        told = {"type": "Terminating", "status": status, "reason": reason, "message": message}
        if any({**one, "lastTransitionTime": ""} == {**told, "lastTransitionTime": ""} for one in conditions):
            return definition
        written = [*kept, {**told, "lastTransitionTime": text_of(self._store.now())}]
        body = {**definition, "status": {**definition["status"], "conditions": written}}
        return self._store.update(CRD, follow.key_of(definition), body, follow.WRITER, subresource="status")


def _defined(definition: Obj) -> follow.Storage:
    spec = definition["spec"]
    return spec["group"], spec["names"]["plural"]
