"""Where rules beyond the core come in: each sees a write before it is stored and may change or refuse it."""

from typing import Literal, Protocol

import msgspec

from manta_common.keys import Key
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj


class Review(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A write that is about to happen. `new` is None for a deletion, `old` for a creation."""

    operation: Literal["CREATE", "UPDATE", "DELETE"]
    served: Served
    key: Key
    subresource: str = ""
    old: Obj | None = None
    new: Obj | None = None


class Admission(Protocol):
    """One rule, or a group of them. It keeps to objects: they are not to be changed in place."""

    def admit(self, review: Review) -> Obj | None:
        """The object to store, `review.new` or a changed copy of it; StatusError to refuse the write."""
