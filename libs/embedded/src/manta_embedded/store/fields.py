"""Field selectors, in the text form of a query, for the fields that a kind lets be selected."""

from collections.abc import Callable

from manta_embedded.store import errors
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj, at_path

Test = Callable[[Obj], bool]
ALWAYS = ("metadata.name", "metadata.namespace")


def field_selector(served: Served, text: str) -> Test | None:
    """What a selector lets through of a kind; None lets everything through. 400 when it cannot be."""
    terms = [_term(served, part) for part in text.split(",") if part]
    if not terms:
        return None
    if len(terms) == 1:
        return terms[0]
    return lambda obj: all(term(obj) for term in terms)


def _term(served: Served, text: str) -> Test:
    for operator in ("!=", "==", "="):
        path, found, value = text.partition(operator)
        if found:
            break
    else:
        raise errors.bad_request(f"invalid selector: '{text}'; can't understand '{text}'")
    _check(served, path)
    if operator == "!=":
        return lambda obj: _text(at_path(obj, path)) != value
    return lambda obj: _text(at_path(obj, path)) == value


def _check(served: Served, path: str) -> None:
    if path in ALWAYS or path in served.fields:
        return
    kind = served.kind
    if served.custom or (not kind.group and served.fields):
        raise errors.bad_request(f"field label not supported: {path}")
    if served.fields:
        raise errors.bad_request(f'field label "{path}" not supported for {kind.kind}')
    raise errors.bad_request(f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"')


def _text(value: object) -> str:
    """A field as selectors compare it: one that is not there is empty."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
