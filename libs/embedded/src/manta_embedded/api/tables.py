"""Lists as tables, with the columns that the kinds have."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from manta_embedded.api import columns
from manta_embedded.api.columns import Column
from manta_embedded.api.custom_columns import custom_columns
from manta_embedded.store import bodies, errors
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj

TYPE = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}


class Tables:
    """Makes tables; ages are told as of the moment."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._custom: dict[int, tuple[Served, Sequence[Column]]] = {}

    def table(
        self, served: Served, objects: Iterable[Obj], meta: Obj, include: str = "", *, columns: bool = True
    ) -> bytes:
        """A table of objects; 400 when it is unknown what of an object a row shall include."""
        found = self._columns(served)
        now = self._now()
        head = {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta,
            "columnDefinitions": [column.definition() for column in found] if columns else None,
        }
        rows = b",".join(_row(obj, found, now, include) for obj in objects)
        return msgspec.json.encode(head)[:-1] + b',"rows":[' + rows + b"]}"

    def _columns(self, served: Served) -> Sequence[Column]:
        if not served.custom:
            return columns.BUILT_IN.get(served.storage, columns.DEFAULT)
        known = self._custom.get(id(served))
        if known is None:
            known = self._custom[id(served)] = (served, custom_columns(served.columns))
        return known[1]


def _row(obj: Obj, found: Sequence[Column], now: datetime, include: str) -> bytes:
    cells: list[Any] = [column.cell(obj, now) for column in found]
    row: Obj = {"cells": cells}
    match include:
        case "" | "Metadata":
            row["object"] = msgspec.Raw(bodies.encoded({**TYPE, "metadata": obj["metadata"]}))
        case "Object":
            row["object"] = msgspec.Raw(bodies.encoded(obj))
        case "None":
            pass
        case _:
            raise errors.bad_request(f"unrecognized includeObject value: {include}")
    return msgspec.json.encode(row)
