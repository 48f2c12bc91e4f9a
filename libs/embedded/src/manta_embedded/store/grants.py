"""What only the server gives: names, uids, times, addresses; and a place in a namespace."""

import random
from datetime import UTC, datetime
from typing import Protocol

from manta_common.keys import Key
from manta_common.kinds import CRD, NAMESPACE, POD, SERVICE
from manta_embedded.store import defaults, definitions, errors, naming, pods
from manta_embedded.store.addresses import Addresses
from manta_embedded.store.buckets import Bucket
from manta_embedded.store.commons import Commons
from manta_embedded.store.errors import Cause
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj, is_terminating
from manta_embedded.store.times import text_of

NAME_TRIES = 8
NAMESPACES, SERVICES, PODS = ((kind.group, kind.plural) for kind in (NAMESPACE, SERVICE, POD))


class Ground(Protocol):
    """What grants stand on."""

    rng: random.Random

    def now(self) -> datetime:
        """The time."""

    def bucket(self, storage: tuple[str, str]) -> Bucket:
        """Where the objects of a resource are."""


class Grants:
    """Completes objects on their way into the store."""

    def __init__(self, ground: Ground, addresses: Addresses) -> None:
        self._ground, self._addresses = ground, addresses
        self._second = (datetime.min.replace(tzinfo=UTC), "")
        self._commons = Commons()

    def time(self) -> str:
        """The time as text; one text serves all writes of a second."""
        now = self._ground.now().replace(microsecond=0)
        if now != self._second[0]:
            self._second = (now, text_of(now))
        return self._second[1]

    def check_namespace(self, served: Served, namespace: str, name: str) -> None:
        """Nothing is created in a namespace that is not there (404) or is being emptied (403)."""
        if not served.kind.namespaced:
            return
        found = self._ground.bucket(NAMESPACES).find(Key("", namespace))
        if found is None:
            details = {"name": namespace, "kind": NAMESPACE.plural}
            raise errors.StatusError(404, "NotFound", f'namespaces "{namespace}" not found', details)
        if is_terminating(found):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
            raise errors.forbidden(served, name, why, [cause])

    def identified(self, served: Served, obj: Obj) -> Obj:
        """A new object with a name, a uid and a time."""
        meta = dict(obj["metadata"])
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = self._free_name(served, meta)
        meta["uid"] = naming.new_uid(self._ground.rng)
        meta["creationTimestamp"] = self.time()
        if served.generation:
            meta["generation"] = 1
        return {**obj, "metadata": meta}

    def defaulted(self, served: Served, obj: Obj) -> Obj:
        """A new object with the defaults of its kind; equal parts of pods are kept once."""
        found = defaults.defaulted(served.storage, obj)
        return self._commons.pod(found) if served.storage == PODS else found

    def started(self, served: Served, obj: Obj) -> Obj:
        """A new object with what only the server can know of it."""
        found = defaults.started(served.storage, obj)
        if served.storage == SERVICES:
            if cause := self._addresses.refusal(found):
                raise errors.invalid(served, obj["metadata"]["name"], [cause])
            return self._addresses.complete(found)
        if served.storage == (CRD.group, CRD.plural):
            return definitions.established(found, self._ground.now())
        return found

    def carried(self, served: Served, old: Obj, obj: Obj, subresource: str) -> Obj:
        """A changed object, or one whose status changed, with defaults and with what the server once gave it."""
        if subresource == "status":
            return pods.with_whole_status(obj) if served.storage == PODS else obj
        found = defaults.defaulted(served.storage, obj)
        if served.storage == SERVICES:
            return self._addresses.complete(self._addresses.carried(old, found))
        return found

    def _free_name(self, served: Served, meta: Obj) -> str:
        """A name that is free; after some tries whatever comes, as the real server has it."""
        bucket = self._ground.bucket(served.storage)
        for _ in range(NAME_TRIES):
            name = naming.made_up(self._ground.rng, meta["generateName"])
            if bucket.find(Key(meta.get("namespace", ""), name)) is None:
                break
        return name
