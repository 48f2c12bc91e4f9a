"""What the server makes of an object before it is stored: metadata that is not the writer's, parts that are kept."""

from typing import Any

import msgspec

from manta_common.keys import Key
from manta_embedded.store import errors
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj, metadata
from manta_embedded.store.schema import faults

OPTIMISTIC_LOCK = "the object has been modified; please apply your changes to the latest version and try again"
NOT_GIVEN = (
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "resourceVersion",
    "generation",
    "managedFields",
)
NOT_KEPT = ("selfLink", "managedFields")
KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
BORN_WITH_STATUS = ("nodes",)  # kinds whose status counts when they are created


def typed(served: Served, body: Any) -> Obj:
    """A body that says what it is; 400 when it is something else."""
    if not isinstance(body, dict) or not isinstance(body.get("metadata") or {}, dict):
        raise errors.bad_request(f"the object provided is unrecognized (must be of type {served.kind.kind})")
    if not all(isinstance(body.get(name) or "", str) for name in ("apiVersion", "kind")):
        raise errors.bad_request("couldn't get version/kind; json parse error: apiVersion and kind are texts")
    if served.custom:
        _check_custom(served, body)
        return body
    kind = served.kind
    version, name = body.get("apiVersion") or kind.api_version, body.get("kind") or kind.kind
    if (version, name) != (kind.api_version, kind.kind):
        word = version.rpartition("/")[2]
        raise errors.bad_request(f'{name} in version "{word}" cannot be handled as a {kind.kind}')
    if body.get("apiVersion") and body.get("kind"):
        return body
    return {**body, "apiVersion": kind.api_version, "kind": kind.kind}


def _check_custom(served: Served, body: Obj) -> None:
    """Custom resources must say what they are."""
    kind, version = served.kind, body.get("apiVersion", "")
    if not body.get("kind"):
        raise errors.bad_request(
            f"the object provided is unrecognized (must be of type {kind.kind}): Object 'Kind' is missing"
        )
    if version != kind.api_version:
        raise errors.bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )
    if body["kind"] != kind.kind:
        other = msgspec.structs.replace(served, kind=msgspec.structs.replace(kind, kind=body["kind"]))
        raise errors.invalid(
            other, metadata(body).get("name", ""), [faults.invalid("kind", body["kind"], f"must be {kind.kind}")]
        )


def created(served: Served, namespace: str, body: Obj) -> Obj:
    """A new object as its writer may have it; name, uid and times are still missing."""
    if metadata(body).get("resourceVersion"):
        raise errors.StatusError(500, "", "resourceVersion should not be set on objects to be created")
    meta = {name: value for name, value in metadata(body).items() if name not in NOT_GIVEN and value is not None}
    given = meta.get("namespace", "")
    if served.kind.namespaced:
        if given and given != namespace:
            raise errors.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        meta["namespace"] = namespace
    if len(meta.get("ownerReferences") or ()) > 1:
        meta["ownerReferences"] = _once_each(meta["ownerReferences"])
    found = {**body, "metadata": meta}
    if served.status and "status" in found and served.kind.plural not in BORN_WITH_STATUS:
        del found["status"]
    return found


def updated(served: Served, old: Obj, body: Obj, subresource: str) -> Obj:
    """A changed object: what is not the writer's, or not of this subresource, is as it was."""
    if subresource == "status":
        body = _status_only(served, old, body)
    elif served.status and subresource != "finalize":
        body = _without_status(old, body)
    return {**body, "metadata": _kept_metadata(old, body)}


def check_key(served: Served, key: Key, body: Obj) -> None:
    """The body is of the object at the path; 400 when it is of another."""
    meta = metadata(body)
    name, namespace = meta.get("name", ""), meta.get("namespace", "")
    if not name:
        raise errors.bad_request(
            f"the name of the object ({key.name} based on URL) was undeterminable: name must be provided"
        )
    if name != key.name:
        raise errors.bad_request(f"the name of the object ({name}) does not match the name on the URL ({key.name})")
    if namespace and served.kind.namespaced and namespace != key.namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_version(served: Served, old: Obj, body: Obj) -> None:
    """The body is of the newest version, where it names one, and of the same object; 409 when it is not."""
    was, meta = metadata(old), metadata(body)
    if meta.get("uid") and meta["uid"] != was["uid"]:
        place = "/".join(part for part in (*served.storage, was.get("namespace", ""), was["name"]) if part)
        why = (
            f"StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, AdditionalErrorMsg:"
            f" Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {was['uid']}"
        )
        raise errors.conflict(served, was["name"], why)
    version = meta.get("resourceVersion")
    if version and version != was["resourceVersion"]:
        raise errors.conflict(served, was["name"], OPTIMISTIC_LOCK)


def next_generation(served: Served, old: Obj, new: Obj) -> int | None:
    """The generation after a change; None for kinds that have none."""
    before: int | None = metadata(old).get("generation")
    if before is None or not served.generation:
        return before
    ignored = ("metadata", "status") if served.status else ("metadata",)
    changed = any(old.get(part) != new.get(part) for part in {**old, **new} if part not in ignored)
    return before + 1 if changed else before


def is_same(old: Obj, new: Obj) -> bool:
    """Whether nothing changed, but for what a write always changes."""
    if len(old) != len(new):
        return False
    if any(new[part] != old.get(part, _NOTHING) for part in new if part != "metadata"):
        return False
    before, after = old["metadata"], new["metadata"]
    if before is after:
        return True
    return {**before, **_ALWAYS_NEW} == {**after, **_ALWAYS_NEW}


_NOTHING = object()
_ALWAYS_NEW = {"resourceVersion": "", "managedFields": None}


def _kept_metadata(old: Obj, body: Obj) -> Obj:
    was = metadata(old)
    meta = {name: value for name, value in metadata(body).items() if value is not None and name not in NOT_KEPT}
    for field in KEPT:
        if field in was:
            meta[field] = was[field]
        else:
            meta.pop(field, None)
    meta["name"] = was["name"]
    if "namespace" in was:
        meta["namespace"] = was["namespace"]
    meta["resourceVersion"] = was["resourceVersion"]
    if len(meta.get("ownerReferences") or ()) > 1:
        meta["ownerReferences"] = _once_each(meta["ownerReferences"])
    return meta


def _once_each(owners: list[Obj]) -> list[Obj]:
    found: list[Obj] = []
    for owner in owners:
        if owner not in found:
            found.append(owner)
    return owners if len(found) == len(owners) else found


def _status_only(served: Served, old: Obj, body: Obj) -> Obj:
    """Custom resources take nothing but the status there, built-in kinds also labels and annotations."""
    meta = old["metadata"] if served.custom else metadata(body)
    found = {**old, "metadata": meta}
    found.pop("status", None)
    return {**found, "status": body["status"]} if "status" in body else found


def _without_status(old: Obj, body: Obj) -> Obj:
    found = {name: value for name, value in body.items() if name != "status"}
    return {**found, "status": old["status"]} if "status" in old else found
