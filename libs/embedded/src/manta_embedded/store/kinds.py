"""The kinds that an API serves, built in or by a CRD, and how each of them behaves."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from manta_common.kinds import Kind
from manta_embedded.store import errors
from manta_embedded.store.objects import Obj
from manta_embedded.store.shapes import ANYTHING, Shape

Conversion = Callable[[Obj], Obj]


class ScalePaths(msgspec.Struct, frozen=True):
    """Where a kind with a scale subresource keeps its numbers: paths as in a CRD, with a leading dot."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""


class Conversions(msgspec.Struct, frozen=True):
    """How a version differs from the one that is stored."""

    to_stored: Conversion
    from_stored: Conversion


class Served(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One kind in one version. All versions of a resource share a storage."""

    kind: Kind
    storage: tuple[str, str]
    status: bool = False
    generation: bool = False
    scale: ScalePaths | None = None
    schema: Obj | None = None
    shape: Shape = ANYTHING
    fields: tuple[str, ...] = ()
    conversions: Conversions | None = None
    custom: bool = False
    names: Obj = msgspec.field(default_factory=dict)  # shortNames, categories, singular, as in a CRD
    columns: tuple[Obj, ...] = ()  # additionalPrinterColumns, as in a CRD

    @property
    def qualified(self) -> str:
        """The resource as messages name it."""
        return f"{self.kind.plural}.{self.kind.group}" if self.kind.group else self.kind.plural

    @property
    def qualified_kind(self) -> str:
        """The kind as messages name it."""
        return f"{self.kind.kind}.{self.kind.group}" if self.kind.group else self.kind.kind

    def stored(self, obj: Obj) -> Obj:
        """An object of this version as it is stored."""
        return self.conversions.to_stored(obj) if self.conversions else obj

    def shown(self, obj: Obj) -> Obj:
        """A stored object in this version."""
        return self.conversions.from_stored(obj) if self.conversions else obj


class Registry:
    """What is served at this moment. Kinds come and go with their CRDs."""

    def __init__(self, served: Iterable[Served]) -> None:
        self._by_path: dict[tuple[str, str, str], Served] = {}
        self._by_name: dict[tuple[str, str], Served] = {}
        for one in served:
            self.add(one)

    def find(self, kind: Kind) -> Served:
        """What is served under the path of a kind; 404 when nothing is."""
        found = self._by_path.get((kind.group, kind.version, kind.plural))
        if found is None:
            raise errors.kind_missing()
        return found

    def at(self, group: str, version: str, plural: str) -> Served | None:
        """What is served under a path."""
        return self._by_path.get((group, version, plural))

    def by_name(self, api_version: str, kind: str) -> Served | None:
        """The kind that an object names, by its apiVersion and kind."""
        return self._by_name.get((api_version, kind))

    def all(self) -> Iterator[Served]:
        """Every kind in every version that is served."""
        return iter(tuple(self._by_path.values()))

    def add(self, served: Served) -> None:
        """Serve a kind, or serve it otherwise than before."""
        kind = served.kind
        self._by_path[(kind.group, kind.version, kind.plural)] = served
        self._by_name[(kind.api_version, kind.kind)] = served

    def remove(self, storage: tuple[str, str]) -> None:
        """Serve a resource no more, in no version."""
        self._by_path = {path: one for path, one in self._by_path.items() if one.storage != storage}
        self._by_name = {name: one for name, one in self._by_name.items() if one.storage != storage}
