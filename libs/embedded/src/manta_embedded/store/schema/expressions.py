"""CEL, by the C++ implementation behind `cel_expr_python`, with functions that Kubernetes adds.

The library is loaded when the first expression is compiled. What it cannot hold: a field of format date-time or
duration is a string in an expression, not a timestamp or duration.
"""

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from manta_embedded.store.schema.quantities import NANO, NotAQuantity, Quantity, parsed

_KEY: Final = re.compile(r'Key not found in map : "?(.*?)"?$')
_INDEX: Final = re.compile(r"Index error: index=(-?\d+)")
_EXTENSIONS: Final = {
    "bindings": "ExtBindings",
    "encoders": "ExtEncoders",
    "math": "ExtMath",
    "optional": "ExtOptional",
    "strings": "ExtStrings",
}
_QUANTITY, _URL = "kubernetes.Quantity", "kubernetes.URL"


class CelError(Exception):
    """An expression could not be evaluated; the message is that of the API server's implementation."""


class CelSyntaxError(CelError):
    """An expression could not be compiled."""


class Expressions:
    """Expressions over a set of variables, each compiled once."""

    def __init__(self, *variables: str) -> None:
        self._variables = variables
        self._environment: Any = None
        self._programs: dict[str, Any] = {}

    def evaluate(self, text: str, values: Mapping[str, Any]) -> Any:
        """What an expression yields, as plain JSON-like values."""
        program = self._programs.get(text)
        if program is None:
            program = self._programs[text] = self._compiled(text)
        found = program.eval(data=values)
        if found.type().name() == "ERROR":
            raise CelError(in_go_words(str(found.value())))
        return found.plain_value()

    def _compiled(self, text: str) -> Any:
        if self._environment is None:
            self._environment = _environment(self._variables)
        try:
            return self._environment.compile(text)
        except RuntimeError as error:
            raise CelSyntaxError(str(error)) from error


def in_go_words(message: str) -> str:
    """A message of the C++ implementation as the Go one says it."""
    text = message.partition(": ")[2] or message
    if key := _KEY.match(text):
        return f"no such key: {key[1]}"
    if index := _INDEX.match(text):
        return f"index out of bounds: {index[1]}"
    if text.startswith("No matching overloads"):
        return "no such overload"
    return "division by zero" if text == "divide by zero" else text


def _environment(variables: Sequence[str]) -> Any:
    cel = importlib.import_module("cel_expr_python.cel")
    extensions = [
        getattr(importlib.import_module(f"cel_expr_python.ext.ext_{module}"), name)()
        for module, name in _EXTENSIONS.items()
    ]
    kinds = {name: getattr(cel.Type, name) for name in ("BOOL", "DOUBLE", "DYN", "INT", "LIST", "MAP", "STRING")}
    added = cel.CelExtension("kubernetes", _declarations(cel, kinds))
    return cel.NewEnv(variables=dict.fromkeys(variables, cel.Type.DYN), extensions=[*extensions, added])


def _declarations(cel: Any, kinds: Mapping[str, Any]) -> list[Any]:
    """Each function once, with all its overloads."""
    overloads: dict[str, list[Any]] = {}
    for name, signature, function in _FUNCTIONS:
        result, *parameters = signature.split()
        is_member = parameters[0] == "."
        types = [kinds[word] for word in parameters if word != "."]
        identity = f"kubernetes_{name}_{'_'.join(parameters).replace('.', 'of')}".lower()
        overloads.setdefault(name, []).append(cel.Overload(identity, kinds[result], types, is_member, function))
    return [cel.FunctionDecl(name, found) for name, found in overloads.items()]


def _quantity(text: str) -> dict[str, str]:
    return {_QUANTITY: str(parsed(text))}


def _held(value: Mapping[str, Any]) -> Quantity:
    return parsed(_plain(value)[_QUANTITY])


def _is_quantity(text: str) -> bool:
    try:
        parsed(text)
    except NotAQuantity:
        return False
    return True


def _compared(one: Any, other: Any) -> int:
    left, right = _held(one).nanos, _held(other).nanos
    return (left > right) - (left < right)


def _whole(value: Any) -> int:
    quantity = _held(value)
    if quantity.nanos % NANO:
        raise ValueError("cannot convert value to integer")
    return quantity.nanos // NANO


def _is_url(text: str) -> bool:
    return text.startswith("/") or bool(urlsplit(text).scheme and (urlsplit(text).netloc or urlsplit(text).path))


def _url(text: str) -> dict[str, str]:
    if not _is_url(text):
        raise ValueError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    return {_URL: text}


def _of_url(pick: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: pick(urlsplit(_plain(value)[_URL]))


def _plain(value: Any) -> Any:
    return {key: getattr(part, "plain_value", lambda part=part: part)() for key, part in value.items()}


def _found(text: str, pattern: str) -> str:
    match = re.search(pattern, text)
    return match[0] if match else ""


# Name, then result and parameters (a dot: called on the first), then what it does. Quantities and URLs are maps with
# one key, because the library has no values of types of one's own.
_FUNCTIONS: Final[tuple[tuple[str, str, Callable[..., Any]], ...]] = (
    ("quantity", "MAP STRING", _quantity),
    ("isQuantity", "BOOL STRING", _is_quantity),
    ("sign", "INT . MAP", lambda value: (_held(value).nanos > 0) - (_held(value).nanos < 0)),
    ("isInteger", "BOOL . MAP", lambda value: not _held(value).nanos % NANO),
    ("asInteger", "INT . MAP", _whole),
    ("asApproximateFloat", "DOUBLE . MAP", lambda value: _held(value).nanos / NANO),
    ("add", "MAP . MAP MAP", lambda one, other: {_QUANTITY: str(_held(one) + _held(other))}),
    ("sub", "MAP . MAP MAP", lambda one, other: {_QUANTITY: str(_held(one) - _held(other))}),
    ("compareTo", "INT . MAP MAP", _compared),
    ("isGreaterThan", "BOOL . MAP MAP", lambda one, other: _compared(one, other) > 0),
    ("isLessThan", "BOOL . MAP MAP", lambda one, other: _compared(one, other) < 0),
    ("url", "MAP STRING", _url),
    ("isURL", "BOOL STRING", _is_url),
    ("getScheme", "STRING . MAP", _of_url(lambda url: url.scheme)),
    ("getHost", "STRING . MAP", _of_url(lambda url: url.netloc.rpartition("@")[2])),
    ("getHostname", "STRING . MAP", _of_url(lambda url: url.hostname or "")),
    ("getPort", "STRING . MAP", _of_url(lambda url: str(url.port or ""))),
    ("getEscapedPath", "STRING . MAP", _of_url(lambda url: url.path)),
    ("find", "STRING . STRING STRING", _found),
    ("findAll", "LIST . STRING STRING", lambda text, pattern: [match[0] for match in re.finditer(pattern, text)]),
    ("isSorted", "BOOL . LIST", lambda items: list(items) == sorted(items)),
)
