"""Writes the reference of the command line from the command line itself: `python -m manta_cli.reference FILE`."""

import argparse
import functools
import pathlib
import sys
from collections.abc import Iterator, Sequence

from manta_cli.commands import COMMANDS
from manta_cli.completion import subparsers
from manta_cli.failures import MEANINGS

_INTRODUCTION = """# The command line

Made by `make crds` from the command line itself; do not edit.

`manta COMMAND --help` says the same. Colours are used on a terminal only, and never when `NO_COLOR` is set. What a
command answers goes to standard output, all that it tells on the way to standard error. Completion:
`source <(manta completion bash)` (also for zsh; `manta completion fish | source`).

| code | meaning |
|---|---|
"""


def text() -> str:
    """The reference."""
    codes = "".join(f"| {code} | {meaning} |\n" for code, meaning in MEANINGS.items())
    return _INTRODUCTION + codes + "".join(_sections())


def _sections() -> Iterator[str]:
    for name, parser in subparsers().items():
        yield f"\n## manta {name}\n\n{COMMANDS[name].help.capitalize()}.\n\n```\n{_help(parser)}```\n"


def _help(parser: argparse.ArgumentParser) -> str:
    """As wide on every terminal."""
    parser.formatter_class = functools.partial(argparse.HelpFormatter, width=108)
    return parser.format_help()


def main(arguments: Sequence[str]) -> int:
    """Write the file."""
    pathlib.Path(*arguments).write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
