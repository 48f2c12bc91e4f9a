"""Finds writes that a service repeats although it was told that they succeeded: it has acted on an old view."""

from manta_common.keys import Key
from manta_common.kinds import Kind


class Ledger:
    """What one life of a service was told of its own creations and deletions."""

    def __init__(self) -> None:
        self._created: dict[tuple[str, Key], str] = {}
        self._deleted: set[str] = set()

    def created(self, kind: Kind, key: Key, uid: str) -> None:
        """It was told that it made this object."""
        self._created[kind.name, key] = uid

    def has_created(self, kind: Kind, key: Key, uid: str) -> bool:
        """Whether it was told that it made this very object."""
        return self._created.get((kind.name, key)) == uid

    def deleted(self, uid: str) -> None:
        """It was told that its deletion of this object was taken."""
        self._deleted.add(uid)

    def has_deleted(self, uid: str) -> bool:
        """Whether it was told so before."""
        return uid in self._deleted
