"""The commands of the documents: taken out of the pages, to be run as a reader types them, and their outputs compared.

A page says in a comment at its beginning where its commands run, `<!-- run on: STAGE -->`, or
`<!-- run by: FILE -->` when a test of its own runs them. Its blocks are

* `sh`: commands, which must succeed;
* `console`: commands after `$ `, each followed by what it prints. `...` stands for anything, a line of its own for any
  lines; ages, and how many spaces there are, do not matter;
* `yaml name=FILE`: a file, kept beside;
* `text`: nothing to run.

A comment before a block changes what becomes of it: `<!-- not run: REASON -->`, and for a command that goes on until it
is ended, `<!-- a terminal of its own, until: WORDS -->`. Every block must be one of these, none is passed over.
"""

import pathlib
import re
from collections.abc import Iterator
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[2]
PLACES = ("README.md", "docs/tutorial/*.md", "docs/how-to/*.md")
STAGES = ("standalone", "cluster", "cluster with KubeRay")
_STAGE = re.compile(r"^<!-- run (on|by): (.+?) -->$", re.MULTILINE)
_BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]+?) -->\n)?^(?P<indent> *)```(?P<language>\w*)(?P<more>[^\n]*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_INDENTED = re.compile(r"\n\n(?: {4}|\t)(?![*\d-])\S")
_AGE = re.compile(r"\b(?:\d+[dhms]){1,2}\b")
ANYTHING = "..."


class PageError(Exception):
    """A page that cannot be run; the message says where and what to write instead."""


class Command(NamedTuple):
    """What is typed at once, and what is said that it prints; None when nothing is said."""

    text: str
    prints: str | None = None


class Block(NamedTuple):
    """One block of a page: commands, or a file."""

    line: int
    commands: tuple[Command, ...] = ()
    file: str = ""
    text: str = ""
    skipped: str = ""  # why it is not run
    until: str = ""  # it goes on beside the others, from when it prints this


class Page(NamedTuple):
    """A page, and where its commands run."""

    path: pathlib.Path
    stage: str  # nothing when there is nothing to run, or a test of its own does it
    blocks: tuple[Block, ...]


def pages(root: pathlib.Path = ROOT) -> list[Page]:
    """Every page whose commands are run."""
    return [read(path) for place in PLACES for path in sorted(root.glob(place))]


def read(path: pathlib.Path) -> Page:
    """One page."""
    text = path.read_text()
    indented = _INDENTED.search(_BLOCK.sub("", text))
    if indented:
        raise PageError(f"{path}: {indented.group().strip()!r} is an indented block: use ```sh or ```text")
    blocks = tuple(_blocks(path, text))
    return Page(path, _stage(path, text) if blocks else "", blocks)


def links(text: str) -> list[str]:
    """The files that a page links to."""
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target.partition("#")[0] for target in targets if not re.match(r"[a-z]+:|#", target)]


def matches(stated: str, printed: str) -> bool:
    """Whether a command printed what a page says."""
    lines = [_plain(line) for line in stated.strip().splitlines()]
    pattern = "".join(
        r"(?:.*\n)*" if line == ANYTHING else ".*".join(map(re.escape, line.split(ANYTHING))) + "\n" for line in lines
    )
    found = "".join(f"{_plain(line)}\n" for line in printed.strip().splitlines())
    return re.fullmatch(pattern, found) is not None


def _plain(line: str) -> str:
    return " ".join(_AGE.sub("AGE", line).split())


def _stage(path: pathlib.Path, text: str) -> str:
    found = _STAGE.search(text)
    how, where = found.groups() if found else ("", "")
    if how == "by":
        test = ROOT / where
        if not test.is_file() or path.name not in test.read_text():
            raise PageError(f"{path}: {where} does not run {path.name}")
        return ""
    if where not in STAGES:
        raise PageError(f"{path}: say where its commands run: <!-- run on: {' | '.join(STAGES)} -->")
    return where


def _blocks(path: pathlib.Path, text: str) -> Iterator[Block]:
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("text"))
        note, more = found.group("note") or "", found.group("more").strip()
        body = re.sub(rf"^{found.group('indent')}", "", found.group("text"), flags=re.MULTILINE)
        kind, _, said = note.partition(": ")
        match found.group("language"):
            case "text":
                continue
            case "yaml" if more.startswith("name="):
                yield Block(line, file=more.removeprefix("name="), text=body)
            case "sh" | "console" | "yaml" if kind == "not run" and said:
                yield Block(line, text=body, skipped=said)
            case "sh":
                until = said if kind == "a terminal of its own, until" else ""
                yield Block(line, (Command(body.strip()),), until=until)
            case "console":
                yield Block(line, tuple(_session(path, line, body)))
            case language:
                raise PageError(f"{path}:{line}: a block of {language!r}: use sh, console, `yaml name=FILE` or text")


def _session(path: pathlib.Path, line: int, body: str) -> Iterator[Command]:
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
    if parts[0].strip() or len(parts) < 2:
        raise PageError(f"{path}:{line}: a console block begins with a command: $ COMMAND")
    for part in parts[1:]:
        command = re.match(r"(?:[^\n]*\\\n)*[^\n]*", part)
        typed = command.group() if command else part
        rest = part[len(typed) :].strip("\n")
        yield Command(typed, rest if rest.strip() else None)
