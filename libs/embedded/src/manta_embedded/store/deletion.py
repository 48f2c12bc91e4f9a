"""What a deletion does: at once, after a grace period, or when the last finalizer is gone."""

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from manta_embedded.store import errors
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj, at_path, metadata
from manta_embedded.store.times import parsed, text_of

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
POD_GRACE_SECONDS = 30
FINISHED = ("Succeeded", "Failed")
Propagation = Literal["", "Background", "Foreground", "Orphan"]
PROTECTED = frozenset(("default", "kube-system", "kube-public", "kube-node-lease"))


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """How to delete. Empty preconditions hold always; an empty propagation is the kind's own."""

    uid: str = ""
    version: str = ""
    grace_seconds: int | None = None
    propagation: Propagation = "Background"


AT_ONCE = Deletion()


def check(served: Served, obj: Obj, options: Deletion) -> None:
    """The object is the one that is meant; 409 when it is another or has changed."""
    meta = metadata(obj)
    if options.uid and options.uid != meta["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta['uid']})."
            " The object might have been deleted and then recreated"
        )
        raise errors.precondition(served, meta["name"], why)
    if options.version and options.version != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in record"
            f" ({meta['resourceVersion']}). The object might have been modified"
        )
        raise errors.precondition(served, meta["name"], why)
    if served.storage == ("", "namespaces") and meta["name"] in PROTECTED:
        raise errors.forbidden(served, meta["name"], "this namespace may not be deleted")


def marked(served: Served, obj: Obj, options: Deletion, now: datetime) -> Obj:
    """The object as it is once its deletion has begun; the same object when that changes nothing."""
    finalizers = _finalizers(served, obj, options)
    meta = metadata(obj)
    if "deletionTimestamp" in meta:
        return _hastened(obj, options.grace_seconds, finalizers)
    if served.storage == ("apiextensions.k8s.io", "customresourcedefinitions"):
        finalizers = [*finalizers, CLEANUP]  # its objects go first
    grace = _grace_seconds(served, obj, options)
    found = {**meta, "deletionTimestamp": text_of(now + timedelta(seconds=grace)), "deletionGracePeriodSeconds": grace}
    if finalizers:
        found["finalizers"] = finalizers
    else:
        found.pop("finalizers", None)
    if meta.get("generation"):
        found["generation"] = meta["generation"] + 1
    marked_object = {**obj, "metadata": found}
    if served.storage == ("", "namespaces"):
        marked_object["status"] = {**obj.get("status", {}), "phase": "Terminating"}
    return marked_object


def is_due(served: Served, obj: Obj) -> bool:
    """Whether nothing holds an object any more whose deletion has begun."""
    meta = metadata(obj)
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return False
    if served.storage == ("", "namespaces") and at_path(obj, "spec.finalizers"):
        return False
    return not meta.get("deletionGracePeriodSeconds")


def _hastened(obj: Obj, grace: int | None, finalizers: list[str]) -> Obj:
    """A second deletion can only shorten the time that is left; and it may ask for another propagation."""
    meta = metadata(obj)
    before = meta.get("deletionGracePeriodSeconds", 0)
    found = dict(meta)
    if grace is not None and grace < before:
        moment = parsed(meta["deletionTimestamp"]) - timedelta(seconds=before - grace)
        found |= {"deletionTimestamp": text_of(moment), "deletionGracePeriodSeconds": grace}
    if finalizers != list(meta.get("finalizers", ())):
        found["finalizers"] = finalizers
    return obj if found == meta else {**obj, "metadata": found}


def _finalizers(served: Served, obj: Obj, options: Deletion) -> list[str]:
    given = list(metadata(obj).get("finalizers", ()))
    propagation = options.propagation
    if not propagation:
        if FOREGROUND in given or ORPHAN in given:
            return given
        propagation = "Orphan" if served.storage == ("batch", "jobs") else "Background"
    wanted = {"Foreground": [FOREGROUND], "Orphan": [ORPHAN]}.get(propagation, [])
    kept = [one for one in given if one not in (FOREGROUND, ORPHAN) or one in wanted]
    return [*kept, *(one for one in wanted if one not in kept)]


def _grace_seconds(served: Served, obj: Obj, options: Deletion) -> int:
    """Only pods have one, and only those that are on a node and have not ended."""
    if served.storage != ("", "pods"):
        return 0
    if not at_path(obj, "spec.nodeName") or at_path(obj, "status.phase") in FINISHED:
        return 0
    own = at_path(obj, "spec.terminationGracePeriodSeconds")
    wanted = POD_GRACE_SECONDS if own is None else int(own)
    asked = wanted if options.grace_seconds is None else options.grace_seconds
    return asked if asked >= 0 else 1
