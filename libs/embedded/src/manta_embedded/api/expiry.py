"""Events are kept for an hour, as on any cluster."""

from datetime import datetime, timedelta

from manta_common.keys import Key
from manta_common.kinds import EVENT
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers.agenda import Agenda
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store
from manta_embedded.store.times import parsed

KEPT = timedelta(hours=1)
STORAGE = (EVENT.group, EVENT.plural)


class Expiry:
    """A controller. An event that happens again is kept for another hour."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._agenda: Agenda[Key] = Agenda()
        for obj in store.objects(EVENT):
            self._plan(Key(obj["metadata"]["namespace"], obj["metadata"]["name"]), obj)
        store.subscribe(self._note)

    def step(self) -> bool:
        """Forget one event; False when none is due."""
        key = self._agenda.take(self._store.now())
        if key is None:
            return False
        if self._store.find(EVENT, key) is not None:
            self._store.delete(EVENT, key, Deletion())
        return True

    def due(self) -> datetime | None:
        """When the next one is to go."""
        return self._agenda.due(self._store.now())

    def _note(self, event: Event) -> None:
        if event.storage != STORAGE or event.type == "DELETED":
            return
        if event.type == "ADDED":
            self._plan(event.key, event.new)
        else:
            self._agenda.add_at(event.key, self._store.now() + KEPT)

    def _plan(self, key: Key, obj: Obj) -> None:
        self._agenda.add_at(key, parsed(obj["metadata"]["creationTimestamp"]) + KEPT)
