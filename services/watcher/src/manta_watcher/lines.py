"""The lists and watches that a session keeps up: one line for each scope of each kind."""

from collections.abc import Sequence

import msgspec

from manta_common.api.meta import ObjectMeta
from manta_common.keys import Key
from manta_common.kube.protocol import Scope
from manta_watcher.roots import Place
from manta_watcher.watched import Watched


class Line(msgspec.Struct, frozen=True):
    """One scope of one kind, with the bit that stands for it."""

    watched: Watched
    scope: Scope
    bit: int

    def place(self, metadata: ObjectMeta) -> Place:
        """Which object this is."""
        return Place(self.watched.kind.name, Key(metadata.namespace, metadata.name))


class Something(msgspec.Struct, frozen=True):
    """Any object, of which nothing is read but that it is there; `Raw | None` would take nothing but null."""


class Outline(msgspec.Struct, frozen=True):
    """What can be read of any object."""

    metadata: ObjectMeta


def lines(kinds: Sequence[Watched], namespaces: Sequence[str]) -> list[Line]:
    """Everything that must be listed and watched, parents first."""
    scopes = [(watched, scope) for watched in kinds for scope in watched.scopes(namespaces)]
    return [Line(watched, scope, 1 << number) for number, (watched, scope) in enumerate(scopes)]


def outline(raw: msgspec.Raw) -> ObjectMeta:
    """The metadata of any object."""
    return msgspec.json.decode(raw, type=Outline).metadata
