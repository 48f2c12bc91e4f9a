"""Writes the versions of requirements.lock as constraints for uv, so that `uv sync` takes the same ones."""

import pathlib
import sys

HEAD = "# Made by `make lock` from requirements.lock, so that `uv sync` takes the same versions. Do not edit.\n"


def pins(lock: str) -> list[str]:
    """The requirements of a lock file without their hashes."""
    lines = (line for line in lock.splitlines() if line and not line.startswith((" ", "#")))
    return [line.removesuffix("\\").strip() for line in lines]


def constraints(lock: str) -> str:
    """The text of uv.toml that belongs to a lock file."""
    return HEAD + "constraint-dependencies = [\n" + "".join(f'    "{pin}",\n' for pin in pins(lock)) + "]\n"


if __name__ == "__main__":
    source, target = map(pathlib.Path, sys.argv[1:])
    target.write_text(constraints(source.read_text()))
