"""Whether a text is a YAML mapping, and if not, what Go's YAML reader would say about it."""

import re
from collections.abc import Iterator
from typing import Final

import yaml

from manta_common import yamldepth

# libyaml, of which Go's reader is a port, uses the same words; the pure Python reader has its own.
_Loader: Final[type[yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_GO_TYPES: Final = {
    "tag:yaml.org,2002:bool": "bool",
    "tag:yaml.org,2002:int": "number",
    "tag:yaml.org,2002:float": "number",
}
_NULL: Final = "tag:yaml.org,2002:null"
_MERGE: Final = "tag:yaml.org,2002:merge"
_GO_TYPE: Final = "types.RuntimeEnvType"
_ALIAS: Final = re.compile(r"\*([0-9A-Za-z_-]+)")


def mapping_fault(text: str) -> str | None:
    """Return why a text is not a YAML mapping; nothing at all and null are fine."""
    if not text:
        return None
    try:
        node = _first_document(text)
    except yaml.YAMLError as error:
        return f"error converting YAML to JSON: yaml: {_go_words(error, text)}"
    if node is None or node.tag == _NULL:
        return None
    if not isinstance(node, yaml.MappingNode):
        words = f"json: cannot unmarshal {_go_type(node)} into Go value of type {_GO_TYPE}"
        return f"error unmarshaling JSON: while decoding JSON: {words}"
    return next((f"error converting YAML to JSON: yaml: {fault}" for fault in _key_faults(node, set())), None)


def _first_document(text: str) -> yaml.Node | None:
    yamldepth.check(text)
    loader = _Loader(text)
    try:
        return loader.get_node() if loader.check_node() else None
    finally:
        loader.dispose()


def _go_type(node: yaml.Node) -> str:
    return "array" if isinstance(node, yaml.SequenceNode) else _GO_TYPES.get(node.tag, "string")


def _key_faults(node: yaml.Node, seen: set[int]) -> Iterator[str]:
    if id(node) in seen or isinstance(node, yaml.ScalarNode):
        return
    seen.add(id(node))
    pairs = node.value if isinstance(node, yaml.MappingNode) else [(None, value) for value in node.value]
    for key, value in pairs:
        if key is not None and (not isinstance(key, yaml.ScalarNode) or key.tag == _NULL):
            yield f"invalid map key in line {key.start_mark.line + 1}"
        if key is not None and key.tag == _MERGE and isinstance(value, yaml.ScalarNode):
            yield "map merge requires map or sequence of maps as the value"
        yield from _key_faults(value, seen)


def _go_words(error: yaml.YAMLError, text: str) -> str:
    if isinstance(error, yamldepth.TooDeep):
        return str(error)
    if not isinstance(error, yaml.MarkedYAMLError):
        return "control characters are not allowed"
    if isinstance(error, yaml.composer.ComposerError):
        return f"unknown anchor '{_alias(error, text)}' referenced"
    line = _line(error)
    return f"line {line}: {error.problem}" if line else f"{error.problem}"


def _alias(error: yaml.MarkedYAMLError, text: str) -> str:
    found = _ALIAS.match(text, error.problem_mark.index) if error.problem_mark else None
    return found[1] if found else ""


def _line(error: yaml.MarkedYAMLError) -> int:
    # Marks count from zero; Go corrects that for scanner errors only, and does not mention line 0 at all.
    if error.problem_mark and error.problem_mark.line:
        return error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    return error.context_mark.line if error.context_mark else 0
