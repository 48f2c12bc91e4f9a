"""YAML as Go's Kubernetes libraries read it: by the rules of YAML 1.1, with every name a text, as for JSON."""

import math
import re
from typing import Any, Final

import yaml

from manta_common import yamldepth
from manta_common.gotext import GoError

_PLAIN: Final = "plain"
_PREFIX: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_INTEGER: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9][0-9]*|0)\Z")
_OLD_OCTAL: Final = re.compile(r"\A([-+]?0)([0-7]+)\Z")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
MOST_VALUES: Final = 100_000
_HIGHEST: Final = 2**64
_LOWEST: Final = -(2**63)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen when it runs
    """Leaves open what a plain scalar means."""

    def resolve(self, kind: type[yaml.Node], value: str, implicit: Any) -> str:
        """Return the tag of a node that says none itself."""
        if kind is yaml.ScalarNode and implicit[0]:
            return _PLAIN
        return str(super().resolve(kind, value, implicit))


def read(text: str) -> Any:
    """Return the first document as plain JSON values, all numbers as floats like Go's; GoError when it is none."""
    try:
        node = _first_document(text)
    except yaml.YAMLError as error:
        raise GoError(f"yaml: {error}") from error
    if node is None:
        return None
    if _size(node, {}) > max(MOST_VALUES, len(text)):  # without aliases a text has fewer values than letters
        raise GoError("yaml: document contains excessive aliasing")
    return _value(node, ())


def _first_document(text: str) -> yaml.Node | None:
    yamldepth.check(text)
    loader = _Loader(text)
    try:
        return loader.get_node() if loader.check_node() else None
    finally:
        loader.dispose()


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Count the values that a node stands for, those that aliases repeat too."""
    if id(node) not in known:
        known[id(node)] = 1  # one that contains itself is told of later
        pairs = isinstance(node, yaml.MappingNode)
        below = [one for pair in node.value for one in pair] if pairs else node.value
        known[id(node)] += 0 if isinstance(node, yaml.ScalarNode) else sum([_size(one, known) for one in below])
    return known[id(node)]


def _value(node: yaml.Node, around: tuple[int, ...]) -> Any:
    if id(node) in around:
        raise GoError("yaml: anchor value contains itself")
    inside = (*around, id(node))
    match node:
        case yaml.MappingNode():
            return _mapping(node, inside)
        case yaml.SequenceNode():
            return [_value(item, inside) for item in node.value]
        case _:
            found = _scalar(node)
            return float(found) if isinstance(found, int) and not isinstance(found, bool) else found


def _mapping(node: yaml.MappingNode, around: tuple[int, ...]) -> dict[str, Any]:
    """Return the pairs of a mapping, the later over the earlier; what is merged in counts where it stands."""
    pairs: dict[str, Any] = {}
    for name, value in node.value:
        if _is_merge(name):
            sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for source in reversed(sources):
                pairs |= _value(source, around)
        else:
            pairs[_name(name)] = _value(value, around)
    return pairs


def _is_merge(node: yaml.Node) -> bool:
    return bool(node.tag == _PLAIN and node.value == "<<")


def _name(node: yaml.Node) -> str:
    match _scalar(node):
        case bool(value):
            return "true" if value else "false"
        case str() | int() | float() as value:
            return str(value)
        case value:
            raise GoError(f"yaml: unsupported map key: {value!r}")


def _scalar(node: yaml.Node) -> Any:
    text = str(node.value)
    match node.tag.removeprefix(_PREFIX):
        case "plain" | "int" | "bool" | "null":
            return _plain(text)
        case "float":
            return float(_plain(text))
        case _:
            return text


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    bare = text.replace("_", "") if text[0] != "." else text
    if _INTEGER.match(bare):
        number = int(_OLD_OCTAL.sub(r"\1o\2", bare), 0)
        return number if _LOWEST <= number < _HIGHEST else float(number)
    return float(bare) if _FLOAT.match(bare) and math.isfinite(float(bare)) else text
