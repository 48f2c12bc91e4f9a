"""Fields that a kind does not have are refused, or warned of, for those who ask for it (`fieldValidation`)."""

from collections.abc import Iterator, Mapping
from typing import Any

from manta_common.kube.protocol import JsonPatch, MergePatch
from manta_embedded.store import errors
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj
from manta_embedded.store.shapes import Shape
from manta_embedded.store.strategic import StrategicPatch


def check(served: Served, body: Obj, query: Mapping[str, str]) -> None:
    """400 when a new object has a field that its kind has not."""
    if query.get("fieldValidation") != "Strict":
        return
    wrong = list(_unknown(body, served.shape, ""))
    if wrong:
        kind = served.kind
        raise errors.bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {_text(wrong)}'
        )


def check_patched(served: Served, patch: JsonPatch | MergePatch | StrategicPatch, query: Mapping[str, str]) -> None:
    """422 when a patch sets such a field."""
    if query.get("fieldValidation") != "Strict" or isinstance(patch, JsonPatch):
        return
    wrong = list(_unknown(patch.body, served.shape, ""))
    if wrong:
        raise errors.unprocessable(_text(wrong))


def _unknown(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, child in value.items():
            inner = f"{path}.{name}" if path else name
            if name.startswith("$"):
                continue
            if not shape.allows(name):
                yield inner
            else:
                yield from _unknown(child, shape.field(name), inner)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unknown(item, shape.items, f"{path}[{number}]")


def _text(wrong: list[str]) -> str:
    return "strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in wrong)
