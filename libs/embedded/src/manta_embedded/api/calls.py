"""Reads and writes of objects: from the text of a request to the text of its answer."""

import re
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, cast

import msgspec

from manta_common.keys import Key
from manta_common.kube.protocol import Apply, JsonPatch, MergePatch
from manta_embedded.api import media, strictness
from manta_embedded.api.asked import Asked
from manta_embedded.api.forms import Forms
from manta_embedded.api.media import Wanted
from manta_embedded.store import errors
from manta_embedded.store.deletion import Deletion, Propagation
from manta_embedded.store.errors import Cause, StatusError
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import EMPTY, Obj
from manta_embedded.store.queries import Query
from manta_embedded.store.schema import faults
from manta_embedded.store.store import Store
from manta_embedded.store.strategic import StrategicPatch
from manta_embedded.store.writers import Writer

Answer = tuple[int, bytes]
PROPAGATIONS = ("", "Background", "Foreground", "Orphan")
MANAGER_CHARACTERS = 128
WHOLE = re.compile(r"-?[0-9]{1,18}")
# What is left of a deleted object is answered for these kinds; for the others only that it was deleted.
TOLD_WHOLE = frozenset(
    ("", name)
    for name in ("pods", "services", "serviceaccounts", "namespaces", "persistentvolumeclaims", "resourcequotas")
)


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What came with a request."""

    query: Mapping[str, str]
    content_type: str = ""
    agent: str = ""
    raw: bytes = b""


class Calls:
    """Every call of an object or a collection but watches."""

    def __init__(self, store: Store, forms: Forms) -> None:
        self._store, self._forms = store, forms

    def answer(self, served: Served, asked: Asked, given: Given, wanted: Wanted) -> Answer:
        """Carry a call out; StatusError when it is refused."""
        key = Key(asked.namespace if served.kind.namespaced else "", asked.name)
        match asked.verb:
            case "get":
                found = self._store.get(served.kind, key, subresource=asked.subresource)
                return 200, self._one(served, asked, found, given, wanted)
            case "list":
                page = self._store.list(served.kind, query_of(asked, given.query))
                return 200, self._forms.many(served, page, wanted, given.query.get("includeObject", ""))
            case "create":
                code, obj = 201, self._create(served, key, given)
            case "update":
                code, obj = self._update(served, key, asked, given)
            case "patch":
                code, obj = self._patch(served, key, asked, given)
            case "delete":
                return 200, self._delete(served, key, given, wanted)
            case "deletecollection":
                return 200, self._delete_all(served, asked, given, wanted)
            case _:
                raise not_allowed()
        return code, self._one(served, asked, obj, given, wanted)

    def _one(self, served: Served, asked: Asked, obj: Obj, given: Given, wanted: Wanted) -> bytes:
        if asked.subresource == "scale":
            return self._forms.whole(obj)
        return self._forms.one(served, obj, wanted, given.query.get("includeObject", ""))

    def _create(self, served: Served, key: Key, given: Given) -> Obj:
        if served.kind.namespaced and not key.namespace:
            raise not_allowed()
        body = self._body(served, given)
        if not isinstance(body, dict):
            raise errors.bad_request(f"the object provided is unrecognized (must be of type {served.kind.kind})")
        strictness.check(served, body, given.query)
        with self._mood(given):
            return self._store.create(served.kind, key.namespace, body, writer_of(given))

    def _update(self, served: Served, key: Key, asked: Asked, given: Given) -> tuple[int, Obj]:
        body = self._body(served, given)
        if not isinstance(body, dict):
            raise errors.bad_request(f"the object provided is unrecognized (must be of type {served.kind.kind})")
        if asked.subresource != "scale":
            strictness.check(served, body, given.query)
        is_new = self._store.find(served.kind, key) is None
        with self._mood(given):
            made = self._store.update(served.kind, key, body, writer_of(given), subresource=asked.subresource)
        return (201 if is_new else 200), made

    def _patch(self, served: Served, key: Key, asked: Asked, given: Given) -> tuple[int, Obj]:
        patch = _patch_of(served, given)
        old = self._store.find(served.kind, key)
        if not isinstance(patch, Apply) and old is not None and not asked.subresource:
            strictness.check_patched(served, patch, given.query)
        with self._mood(given):
            made = self._store.patch(served.kind, key, patch, writer_of(given), subresource=asked.subresource)
        return (201 if old is None else 200), made

    def _delete(self, served: Served, key: Key, given: Given, wanted: Wanted) -> bytes:
        options = deletion_of(served, given)
        with self._mood(given, _asked_body(served, given)):
            obj = self._store.delete(served.kind, key, options)
        if served.storage in TOLD_WHOLE or self._store.find(served.kind, key) is not None:
            return self._forms.one(served, obj, wanted)
        about = {
            "name": key.name,
            "group": served.kind.group,
            "kind": served.kind.plural,
            "uid": obj["metadata"]["uid"],
        }
        details = {name: value for name, value in about.items() if value}
        told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return msgspec.json.encode(told)

    def _delete_all(self, served: Served, asked: Asked, given: Given, wanted: Wanted) -> bytes:
        options = deletion_of(served, given)
        page = self._store.list(served.kind, query_of(asked, given.query))
        with self._mood(given, _asked_body(served, given)):
            for obj in page.items:
                meta = obj["metadata"]
                self._store.delete(served.kind, Key(meta.get("namespace", ""), meta["name"]), options)
        return self._forms.many(served, page, wanted)

    def _body(self, served: Served, given: Given) -> Any:
        kind = media.content_type(given.content_type, media.BODIES if not served.custom else media.BODIES[:2])
        return media.decoded(given.raw, kind, served)

    def _mood(self, given: Given, body: Obj = EMPTY) -> Any:
        modes = body.get("dryRun") or []
        told = given.query.get("dryRun") or ",".join(map(str, modes if isinstance(modes, list) else [modes]))
        if not told:
            return nullcontext()
        if told != "All":
            cause = faults.unsupported("dryRun", told, ("All",))
            raise StatusError(422, "Invalid", f' "" is invalid: {cause}', {"causes": [msgspec.to_builtins(cause)]})
        return self._store.rehearsal()


def query_of(asked: Asked, query: Mapping[str, str]) -> Query:
    """Which objects a list or a watch is about; 400 when that makes no sense."""
    limit = query.get("limit", "")
    if limit and not WHOLE.fullmatch(limit):
        raise errors.bad_request(f'strconv.ParseInt: parsing "{limit}": invalid syntax')
    fields = query.get("fieldSelector", "")
    return Query(
        namespace=asked.namespace if asked.resource != "namespaces" else "",
        labels=query.get("labelSelector", ""),
        fields=fields,
        limit=max(int(limit or 0), 0),
        next=query.get("continue", ""),
        version=query.get("resourceVersion", ""),
        exact=query.get("resourceVersionMatch") == "Exact",
    )


def writer_of(given: Given) -> Writer:
    """Under which name fields are held; 422 when it cannot be one."""
    name = given.query.get("fieldManager") or given.agent.partition("/")[0] or "unknown"
    if len(name) > MANAGER_CHARACTERS:
        cause = Cause("FieldValueTooLong", f"Too long: may not be more than {MANAGER_CHARACTERS} bytes", "fieldManager")
        raise StatusError(422, "Invalid", f' "" is invalid: {cause}', {"causes": [msgspec.to_builtins(cause)]})
    return Writer(name)


def deletion_of(served: Served, given: Given) -> Deletion:
    """How to delete, by the body or else the query."""
    body = _asked_body(served, given)
    grace = body.get("gracePeriodSeconds", given.query.get("gracePeriodSeconds"))
    propagation = body.get("propagationPolicy") or given.query.get("propagationPolicy") or ""
    orphan = body.get("orphanDependents", {"true": True, "false": False}.get(given.query.get("orphanDependents", "")))
    if orphan is not None and not propagation:
        propagation = "Orphan" if orphan else "Background"
    if propagation not in PROPAGATIONS:
        raise errors.bad_request(f"invalid propagationPolicy {propagation!r}: Orphan, Foreground or Background")
    conditions = body.get("preconditions") or EMPTY
    if not isinstance(conditions, dict) or not _is_whole(grace):
        raise errors.bad_request("DeleteOptions: preconditions is an object, gracePeriodSeconds a number")
    uid, version = conditions.get("uid") or "", conditions.get("resourceVersion") or ""
    if not isinstance(uid, str) or not isinstance(version, str):
        raise errors.bad_request("DeleteOptions: uid and resourceVersion of the preconditions are texts")
    return Deletion(
        uid=uid,
        version=version,
        grace_seconds=None if grace is None else int(grace),
        propagation=cast(Propagation, propagation),
    )


def _is_whole(grace: Any) -> bool:
    """Whether it is nothing, a whole number, or the text of one."""
    return grace is None or (isinstance(grace, int | str) and bool(WHOLE.fullmatch(str(grace))))


def not_allowed() -> StatusError:
    """There is no such method here."""
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def _asked_body(served: Served, given: Given) -> Obj:
    if not given.raw:
        return EMPTY
    kind = media.content_type(given.content_type, media.BODIES)
    body = media.decoded(given.raw, kind, served)
    if not isinstance(body, dict) or body.get("kind", "DeleteOptions") != "DeleteOptions":
        raise errors.bad_request("the body of a deletion is DeleteOptions")
    return body


def _patch_of(served: Served, given: Given) -> JsonPatch | MergePatch | StrategicPatch | Apply:
    accepted = media.CUSTOM_PATCHES if served.custom else media.PATCHES
    kind = media.content_type(given.content_type, accepted)
    body = media.plain(given.raw, kind, "error decoding patch")
    match kind:
        case "application/json-patch+json":
            if not isinstance(body, list) or not all(isinstance(one, dict) for one in body):
                raise errors.bad_request("error decoding patch: a JSON patch is a list of operations")
            return JsonPatch(tuple(body))
        case "application/merge-patch+json":
            return MergePatch(_object(body))
        case "application/strategic-merge-patch+json":
            return StrategicPatch(_object(body))
    manager = given.query.get("fieldManager", "")
    if not manager:
        cause = faults.required("fieldManager", "is required for apply patch")
        details = {"group": "meta.k8s.io", "kind": "PatchOptions", "causes": [msgspec.to_builtins(cause)]}
        raise StatusError(422, "Invalid", f'PatchOptions.meta.k8s.io "" is invalid: {cause}', details)
    return Apply(body, manager, force=given.query.get("force") == "true")


def _object(body: Any) -> Obj:
    if not isinstance(body, dict):
        raise errors.bad_request("error decoding patch: a merge patch is an object")
    return body
