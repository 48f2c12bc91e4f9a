"""Deletion of namespaces: pods first, then everything else; the namespace goes when nothing is left in it."""

from datetime import datetime
from typing import Final

from manta_common.keys import Key
from manta_common.kinds import NAMESPACE, POD
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers import follow
from manta_embedded.store.controllers.agenda import Agenda
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj, is_terminating, metadata
from manta_embedded.store.store import Store
from manta_embedded.store.times import text_of

STORAGE: Final = (NAMESPACE.group, NAMESPACE.plural)
FINALIZER: Final = "kubernetes"
# Type, then reason and message while nothing is wrong.
CONDITIONS: Final = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
)
Wrong = dict[str, tuple[str, str]]


class Namespaces:
    """Looks at one namespace in a step."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._agenda: Agenda[str] = Agenda()
        self._terminating: set[str] = set()
        follow.follow(store, self._note)

    def step(self) -> bool:
        """Look at the next namespace; False when there is none to look at."""
        name = self._agenda.take(self._store.now())
        if name is not None:
            self._look_at(name)
        return name is not None

    def due(self) -> datetime | None:
        """When there is something to look at."""
        return self._agenda.due(self._store.now())

    def _note(self, event: Event) -> None:
        if event.storage == STORAGE:
            self._note_namespace(event)
        elif event.type == "DELETED" and event.key.namespace in self._terminating:
            self._agenda.add(event.key.namespace)

    def _note_namespace(self, event: Event) -> None:
        name = event.key.name
        if event.type == "DELETED" or not is_terminating(event.new):
            self._terminating.discard(name)
        elif name not in self._terminating:
            self._terminating.add(name)
            self._agenda.add(name)

    def _look_at(self, name: str) -> None:
        namespace = self._store.find(NAMESPACE, Key("", name))
        if namespace is None or not is_terminating(namespace) or not _is_held(namespace):
            return
        pods = [served for served in self._resources() if served.kind == POD]
        if self._emptied(pods, name):
            self._report(namespace, {})  # the rest must wait, and nothing is said of it
            return
        remaining = self._emptied(self._resources(), name)
        namespace = self._report(namespace, _wrong(remaining))
        if not remaining:
            self._finalize(namespace)

    def _resources(self) -> list[Served]:
        return [served for served in follow.resources(self._store) if served.kind.namespaced]

    def _emptied(self, resources: list[Served], namespace: str) -> dict[str, list[Obj]]:
        """Delete all objects of these resources; what is still there, by resource."""
        found = {}
        for served in resources:
            bucket = self._store.bucket(served.storage)
            for _, obj in list(bucket.all(namespace)):
                if not is_terminating(obj) and bucket.find(follow.key_of(obj)) is not None:
                    self._store.delete(served.kind, follow.key_of(obj), Deletion(propagation="Background"))
            left = [obj for _, obj in bucket.all(namespace)]
            if left:
                found[f"{served.kind.plural}.{served.kind.group}"] = left
        return found

    def _report(self, namespace: Obj, wrong: Wrong) -> Obj:
        """Write the conditions, if they are other than before."""
        before = namespace["status"].get("conditions", [])
        status = {**namespace["status"], "conditions": _conditions(before, wrong, text_of(self._store.now()))}
        if status == namespace["status"]:
            return namespace
        body = {**namespace, "status": status}
        return self._store.update(NAMESPACE, follow.key_of(namespace), body, follow.WRITER, subresource="status")

    def _finalize(self, namespace: Obj) -> None:
        kept = [finalizer for finalizer in namespace["spec"]["finalizers"] if finalizer != FINALIZER]
        body = {**namespace, "spec": {**namespace["spec"], "finalizers": kept}}
        self._store.update(NAMESPACE, follow.key_of(namespace), body, follow.WRITER, subresource="finalize")


def _is_held(namespace: Obj) -> bool:
    return FINALIZER in ((namespace.get("spec") or {}).get("finalizers") or ())


def _wrong(remaining: dict[str, list[Obj]]) -> Wrong:
    """What is to be said of objects that are still there, and of the finalizers that hold them."""
    if not remaining:
        return {}
    counts = sorted(f"{resource} has {len(objects)} resource instances" for resource, objects in remaining.items())
    said = {"NamespaceContentRemaining": ("SomeResourcesRemain", f"Some resources are remaining: {', '.join(counts)}")}
    held: dict[str, int] = {}
    for obj in (obj for objects in remaining.values() for obj in objects):
        for finalizer in metadata(obj).get("finalizers", ()):
            held[finalizer] = held.get(finalizer, 0) + 1
    if held:
        texts = ", ".join(f"{finalizer} in {count} resource instances" for finalizer, count in sorted(held.items()))
        message = f"Some content in the namespace has finalizers remaining: {texts}"
        said["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
    return said


def _conditions(before: list[Obj], wrong: Wrong, now: str) -> list[Obj]:
    known, found = {condition["type"]: condition for condition in before}, []
    for name, *right in CONDITIONS:
        status = "True" if name in wrong else "False"
        reason, message = wrong.get(name, right)
        old = known.get(name, {})
        since = old["lastTransitionTime"] if old.get("status") == status else now
        found.append(
            {"type": name, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
        )
    return found
