"""Bytes in, bytes out: bodies to JSON, answers straight into the types that the caller wants."""

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar, cast

import msgspec
from msgspec import Raw, field

from manta_common.api.wire import Wire
from manta_common.errors import MantaError
from manta_common.kinds import Kind
from manta_common.kube import faults
from manta_common.kube.protocol import Apply, Body, Change, JsonPatch, MergePatch, Patch

T = TypeVar("T")
CONTENT_TYPES: dict[type[Patch], str] = {
    JsonPatch: "application/json-patch+json",
    MergePatch: "application/merge-patch+json",
    Apply: "application/apply-patch+yaml",
}


class ListMeta(Wire, frozen=True, kw_only=True):
    """Where a page of a list ends."""

    resource_version: str = ""
    next: str = field(default="", name="continue")


class Page(Wire, Generic[T], frozen=True, kw_only=True):
    """One page of a list."""

    metadata: ListMeta = field(default_factory=ListMeta)
    items: tuple[T, ...] | None = None


class Line(Wire, frozen=True, kw_only=True):
    """One line of a watch with its object unread."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: Raw


class Metadata(Wire, frozen=True, kw_only=True):
    """The version of an object."""

    resource_version: str = ""


class Versioned(Wire, frozen=True, kw_only=True):
    """An object of which only the version is read."""

    metadata: Metadata = field(default_factory=Metadata)


class Codec:
    """Encodes bodies and decodes answers; a decoder is made once for each type."""

    def __init__(self) -> None:
        self._encoder = msgspec.json.Encoder(enc_hook=_plain)
        self._decoders: dict[Any, msgspec.json.Decoder[Any]] = {}

    def encode(self, body: Body) -> bytes:
        """A body as it is sent; bytes are JSON already."""
        return body if isinstance(body, bytes) else self._encoder.encode(body)

    def encode_patch(self, patch: Patch) -> tuple[bytes, str]:
        """A patch as it is sent, and its content type."""
        body = self._encoder.encode(patch.operations) if isinstance(patch, JsonPatch) else self.encode(patch.body)
        return body, CONTENT_TYPES[type(patch)]

    def decode(self, kind: Kind, body: bytes, into: type[T]) -> T:
        """An object in the type that is wanted."""
        try:
            return self._decoder(into).decode(body)
        except msgspec.DecodeError as error:
            raise faults.unreadable(kind, error) from error

    def page(self, kind: Kind, body: bytes, into: type[T]) -> Page[T]:
        """A page of a list, its items in the type that is wanted."""
        return self.decode(kind, body, Page[into])  # type: ignore[valid-type]

    def change(self, kind: Kind, line: bytes, into: type[T]) -> Change[T]:
        """A line of a watch; the error that an ERROR line stands for is raised."""
        read = self.decode(kind, line, Line)
        if read.type == "ERROR":
            raise self._failure(kind, read.object)
        found = None if read.type == "BOOKMARK" else self._decode_raw(kind, read.object, into)
        return Change(read.type, self._version(kind, read.object, found), found)

    def _failure(self, kind: Kind, status: Raw) -> MantaError:
        return faults.from_failure(kind, self._decode_raw(kind, status, faults.Failure))

    def _decode_raw(self, kind: Kind, raw: Raw, into: type[T]) -> T:
        if into is Raw:
            return cast("T", raw.copy())  # a copy does not hold on to the whole line
        try:
            return self._decoder(into).decode(raw)
        except msgspec.DecodeError as error:
            raise faults.unreadable(kind, error) from error

    def _version(self, kind: Kind, raw: Raw, found: object) -> str:
        """From the object as it was read, where that has it; else it is looked for once more."""
        version = getattr(getattr(found, "metadata", None), "resource_version", None)
        return (
            version
            if isinstance(version, str) and version
            else self._decode_raw(kind, raw, Versioned).metadata.resource_version
        )

    def _decoder(self, into: type[T]) -> msgspec.json.Decoder[T]:
        known = self._decoders.get(into)
        if known is None:
            known = self._decoders[into] = msgspec.json.Decoder(into)
        return known


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"objects of type {type(value).__name__} cannot be sent")
