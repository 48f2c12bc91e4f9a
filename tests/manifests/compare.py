"""What one JSON document lacks of another."""

from collections.abc import Iterator
from typing import Any

ZEROS: tuple[Any, ...] = (False, 0, "", [], {}, "K8sJobMode", 1)  # Go's, and two defaults of the API server


def lost(before: Any, after: Any, path: str = "", *, zeros: tuple[Any, ...] = ZEROS) -> Iterator[str]:
    """Where something other than a zero is missing or changed."""
    match before, after:
        case dict(), dict():
            for name, value in before.items():
                if name in after:
                    yield from lost(value, after[name], f"{path}.{name}", zeros=zeros)
                elif value not in zeros:
                    yield f"{path}.{name}"
        case list(), list() if len(before) == len(after):
            for place, item in enumerate(before):
                yield from lost(item, after[place], f"{path}[{place}]", zeros=zeros)
        case _ if before != after:
            yield path
