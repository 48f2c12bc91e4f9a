"""Keeps the status of every ResourceQuota: what is limited, and how much of it is used."""

from datetime import datetime
from typing import Final

from manta_common.keys import Key
from manta_embedded.store.builtin import RESOURCEQUOTA
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers import follow
from manta_embedded.store.controllers.agenda import Agenda
from manta_embedded.store.controllers.quota_usage import Usage, concerns, matches, summed, usage
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.quantities import parsed
from manta_embedded.store.store import Store

STORAGE: Final = (RESOURCEQUOTA.group, RESOURCEQUOTA.plural)


class Quotas:
    """Looks at one quota in a step."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._agenda: Agenda[Key] = Agenda()
        follow.follow(store, self._note)

    def step(self) -> bool:
        """Look at the next quota; False when there is none to look at."""
        key = self._agenda.take(self._store.now())
        quota = self._store.find(RESOURCEQUOTA, key) if key is not None else None
        if quota is not None:
            self._report(quota)
        return key is not None

    def due(self) -> datetime | None:
        """When there is something to look at."""
        return self._agenda.due(self._store.now())

    def _note(self, event: Event) -> None:
        if event.storage == STORAGE:
            self._agenda.add(event.key)
        if event.key.namespace:
            for _, quota in self._store.bucket(STORAGE).all(event.key.namespace):
                self._agenda.add(follow.key_of(quota))

    def _report(self, quota: Obj) -> None:
        hard = {name: str(parsed(amount)) for name, amount in (quota["spec"].get("hard") or {}).items()}
        used = {name: str(amount) for name, amount in used_of(self._store, quota, hard).items()}
        status = {"hard": hard, "used": used}
        if quota.get("status") != status:
            body = {**quota, "status": status}
            self._store.update(RESOURCEQUOTA, follow.key_of(quota), body, follow.WRITER, subresource="status")


def used_of(store: Store, quota: Obj, names: dict[str, str]) -> Usage:
    """How much of each is in use in a quota's namespace, by the objects that count in it."""
    namespace, now = quota["metadata"]["namespace"], store.now()
    usages = [
        usage(served.storage, obj, now)
        for served in follow.resources(store)
        if served.kind.namespaced and any(concerns(served.storage, name) for name in names)
        for _, obj in store.bucket(served.storage).all(namespace)
        if matches(quota, served.storage, obj)
    ]
    return summed(usages, names)
