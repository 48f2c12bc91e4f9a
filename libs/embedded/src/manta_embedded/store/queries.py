"""Which objects a list or a watch is about, and where a list of pages goes on."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

import msgspec

from manta_embedded.store import errors
from manta_embedded.store.fields import field_selector
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import EMPTY, Obj
from manta_embedded.store.selectors import label_selector

Test = Callable[[Obj], bool]
TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without"
    " the continue parameter, or use the continue token in this response to retrieve the remainder of the results."
    " Continuing with the provided token results in an inconsistent list - objects that were created, modified, or"
    " deleted between the time the first chunk was returned and now may show up in the list."
)


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the objects of a kind; `next` goes on where a page ended."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    limit: int = 0
    next: str = ""
    version: str = ""
    exact: bool = False


EVERYTHING = Query()


class Page(msgspec.Struct, frozen=True):
    """Objects as they were at one version. `remaining` is told where no selector makes it unknown."""

    items: tuple[Obj, ...]
    version: str
    next: str = ""
    remaining: int | None = None


class Position(msgspec.Struct, frozen=True):
    """Where a list goes on: after a place, at a version; version -1 is the newest."""

    rv: int
    start: str
    v: str = "meta.k8s.io/v1"


def tests(served: Served, query: Query) -> Test | None:
    """What the selectors of a query let through; None for everything."""
    labels, fields = label_selector(query.labels), field_selector(served, query.fields)
    if labels is None:
        return fields
    by_labels = _by_labels(labels)
    return by_labels if fields is None else lambda obj: by_labels(obj) and fields(obj)


def encoded(position: Position) -> str:
    """A position as the client gets it."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def decoded(text: str) -> Position:
    """The position that a client hands back; 400 when it is none."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(raw, type=Position)
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise errors.bad_request(f"invalid continue token: continue key is not valid: {error}") from error


def parsed_version(text: str) -> int:
    """The number of a version; 400 when it is none."""
    if not text.isdigit():
        why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise errors.bad_request(f'invalid resource version: resourceVersion: Invalid value: "{text}": {why}')
    return int(text)


def _by_labels(labels: Callable[[Any], bool]) -> Test:
    return lambda obj: labels(obj["metadata"].get("labels") or EMPTY)
