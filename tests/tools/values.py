"""The table of the chart's values in its README, made from values.yaml: `python -m tests.tools.values FOLDER`."""

import json
import pathlib
import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import yaml

BEGIN, END = "<!-- values: made by `make chart` from values.yaml; do not edit -->", "<!-- end of values -->"


class Value(NamedTuple):
    """One value: its path, its default and what the comment beside it says."""

    path: str
    default: str
    meaning: str


def values(text: str) -> list[Value]:
    """All values of a values.yaml; one without a comment is a ValueError that names it."""
    found = list(_values(yaml.compose(text, Loader=yaml.SafeLoader), "", text.splitlines()))
    bare = [one.path for one in found if not one.meaning]
    if bare:
        raise ValueError(f"values.yaml: say what these mean, in a comment: {', '.join(bare)}")
    return found


def table(found: Sequence[Value]) -> str:
    """The values as a table of Markdown."""
    rows = [f"| `{one.path}` | `{one.default}` | {one.meaning} |" for one in found]
    return "\n".join(("| value | default | meaning |", "|---|---|---|", *rows))


def readme(before: str, found: Sequence[Value]) -> str:
    """A README with its table brought up to date."""
    head, _, rest = before.partition(BEGIN)
    return f"{head}{BEGIN}\n\n{table(found)}\n\n{END}{rest.partition(END)[2]}"


def main(arguments: Sequence[str]) -> int:
    """Write the README of a chart."""
    folder = pathlib.Path(*arguments)
    file = folder / "README.md"
    file.write_text(readme(file.read_text(), values((folder / "values.yaml").read_text())))
    return 0


def _values(node: yaml.Node, path: str, lines: Sequence[str]) -> Iterator[Value]:
    assert isinstance(node, yaml.MappingNode)
    for key, value in node.value:
        inner = f"{path}.{key.value}".lstrip(".")
        beside = _comment(lines[key.start_mark.line])
        if isinstance(value, yaml.MappingNode) and not value.flow_style and not beside:
            yield from _values(value, inner, lines)
        else:
            yield Value(inner, _short(value), beside or _above(lines, key.start_mark.line))


def _comment(line: str) -> str:
    found = re.search(r"\s# (.*)$", line)
    return found[1].replace("|", "\\|") if found else ""


def _above(lines: Sequence[str], number: int) -> str:
    """The whole lines of comment right above a line."""
    found: list[str] = []
    while number and lines[number - 1].startswith("#"):
        number -= 1
        found.insert(0, lines[number].removeprefix("# "))
    return " ".join(found)


def _short(node: yaml.Node) -> str:
    """A default on one line; a block is not repeated."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        return "see values.yaml"
    return json.dumps(yaml.safe_load(yaml.serialize(node, Dumper=yaml.SafeDumper)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
