"""The pods of one Job: created, deleted, and let go once they are counted."""

from manta_common.kinds import POD
from manta_embedded.store.controllers import follow
from manta_embedded.store.controllers.job_facts import TRACKING
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.objects import Obj, is_terminating, metadata, with_metadata
from manta_embedded.store.store import Store


def new_pod(job: Obj) -> Obj:
    """The next pod of a Job."""
    template = job["spec"]["template"]
    meta = {
        name: value for name, value in (template.get("metadata") or {}).items() if name in ("labels", "annotations")
    }
    finalizers = [*((template.get("metadata") or {}).get("finalizers") or ())]
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": metadata(job)["name"],
        "uid": metadata(job)["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    meta |= {
        "generateName": f"{metadata(job)['name']}-",
        "finalizers": finalizers if TRACKING in finalizers else [*finalizers, TRACKING],
        "ownerReferences": [owner],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}


def release(store: Store, pod: Obj) -> None:
    """Let a pod go: it is counted, or will never be."""
    current = _current(store, pod)
    if current is not None:
        kept = [one for one in metadata(current).get("finalizers", ()) if one != TRACKING]
        body = with_metadata(current, finalizers=kept or None)
        store.update(POD, follow.key_of(pod), body, follow.WRITER)


def delete(store: Store, pod: Obj) -> None:
    """Have a pod end."""
    current = _current(store, pod)
    if current is not None and not is_terminating(current):
        store.delete(POD, follow.key_of(pod), Deletion(uid=follow.uid_of(pod)))


def _current(store: Store, pod: Obj) -> Obj | None:
    found = store.find(POD, follow.key_of(pod))
    return found if found is not None and follow.uid_of(found) == follow.uid_of(pod) else None
