"""Objects and lists as they are sent: whole, their metadata only, or as tables."""

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from manta_embedded.api.media import Wanted
from manta_embedded.api.tables import Tables
from manta_embedded.store import bodies
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj
from manta_embedded.store.queries import Page

PARTIAL = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
ENCODED = 2000


class Forms:
    """Makes bytes of objects, each whole object once: its writer, its watchers and the journal get the same."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._known: OrderedDict[int, tuple[Obj, bytes]] = OrderedDict()

    def whole(self, obj: Obj) -> bytes:
        """All of an object. Objects are never changed, and one that is kept here keeps its id."""
        found = self._known.get(id(obj))
        if found is None:
            found = (obj, bodies.encoded(obj))
            self._known[id(obj)] = found
            if len(self._known) > ENCODED:
                self._known.popitem(last=False)
        return found[1]

    def one(self, served: Served, obj: Obj, wanted: Wanted, include: str = "") -> bytes:
        """One object in a form."""
        match wanted.form:
            case "table":
                return self._tables.table(served, [obj], {"resourceVersion": _version(obj)}, include)
            case "partial":
                return bodies.encoded({**PARTIAL, "metadata": obj["metadata"]})
        return self.whole(obj)

    def row(self, served: Served, obj: Obj, include: str, *, first: bool) -> bytes:
        """One object as a line of a watch has it in a table; only the first tells the columns."""
        return self._tables.table(served, [obj], {"resourceVersion": _version(obj)}, include, columns=first)

    def many(self, served: Served, page: Page, wanted: Wanted, include: str = "") -> bytes:
        """A page of objects in a form."""
        meta: Obj = {"resourceVersion": page.version}
        if page.next:
            meta["continue"] = page.next
        if page.remaining is not None:
            meta["remainingItemCount"] = page.remaining
        match wanted.form:
            case "table":
                return self._tables.table(served, page.items, meta, include)
            case "partial":
                head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
                return _list(head, (bodies.encoded({**PARTIAL, "metadata": obj["metadata"]}) for obj in page.items))
        head = {"kind": f"{served.kind.kind}List", "apiVersion": served.kind.api_version, "metadata": meta}
        if served.custom:
            return _list(head, (self.whole(obj) for obj in page.items))
        return _list(head, (bodies.encoded(_untyped(obj)) for obj in page.items))


def _untyped(obj: Obj) -> Obj:
    """Items of a list of a built-in kind do not say what they are."""
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}


def _list(head: Obj, items: Iterable[bytes]) -> bytes:
    return msgspec.json.encode(head)[:-1] + b',"items":[' + b",".join(items) + b"]}"


def _version(obj: Obj) -> str:
    found: str = obj["metadata"].get("resourceVersion", "")
    return found
