"""Custom resources are kept as their schemas want them: defaulted, pruned, and refused when they break a rule."""

from manta_embedded.store import errors
from manta_embedded.store.admission import Review
from manta_embedded.store.errors import Cause
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema.embedded import embedded_causes
from manta_embedded.store.schema.listtypes import list_faults
from manta_embedded.store.schema.node import Node
from manta_embedded.store.schema.rules import BLOCKING, NOT_CHECKED, Rules
from manta_embedded.store.schema.shaping import shaped
from manta_embedded.store.schema.values import UNRELATED, schema_faults


class CustomResources:
    """An admission. Validation and CEL can be left out where only speed counts; defaults and pruning cannot."""

    def __init__(self, *, validate: bool = True, cel: bool = True) -> None:
        self._validate, self._cel = validate, cel
        self._rules = Rules()
        self._roots: dict[int, Node] = {}

    def admit(self, review: Review) -> Obj | None:
        """The object as its schema has it; 422 with every cause when it breaks a rule."""
        if review.new is None or review.served.schema is None:
            return review.new
        root = self._root(review.served.schema)
        new = shaped(review.new, root)
        causes = self._causes(root, review, new) if self._validate else []
        if causes:
            raise errors.invalid(review.served, review.key.name, causes)
        return new

    def shaped(self, schema: Obj, obj: Obj) -> Obj:
        """An object read in a version with this schema: defaulted and pruned."""
        return shaped(obj, self._root(schema))

    def _root(self, schema: Obj) -> Node:
        """The schema as a tree; it is kept with the schema itself, so that an id stays one schema's."""
        if id(schema) not in self._roots:
            self._roots[id(schema)] = Node(schema)
        return self._roots[id(schema)]

    def _causes(self, root: Node, review: Review, new: Obj) -> list[Cause]:
        old = review.old
        found = _status_causes(root, new, old) if review.subresource == "status" else _causes(root, new, old)
        if old is None or not any(list_faults(root, old)):
            found += list_faults(root, new)
        if self._cel and root.has_rules:
            blocked = any(cause.reason in BLOCKING for cause in found)
            found += [NOT_CHECKED] if blocked else self._rules.faults(root, new, old)
        return found


def _causes(root: Node, new: Obj, old: Obj | None) -> list[Cause]:
    related = UNRELATED if old is None else old
    return [*schema_faults(root, new, related), *embedded_causes(root, new)]


def _status_causes(root: Node, new: Obj, old: Obj | None) -> list[Cause]:
    node = root.property("status")
    if node is None or "status" not in new:
        return []
    before = old["status"] if old and "status" in old else UNRELATED
    return schema_faults(node, new["status"], before, prefix="status")
