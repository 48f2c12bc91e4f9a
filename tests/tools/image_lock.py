"""Writes the part of requirements.lock that the services need to run: `make lock` keeps the image's lock by it."""

import importlib.metadata
import pathlib
import re
import sys

from packaging.requirements import Requirement

HEAD = "# Made by `make lock` from requirements.lock: what the image of the services holds. Do not edit.\n"
WHOLE = "manta-cli"
LEFT_OUT = ("manta-embedded",)  # an API, a node and a NATS of its own: what a standalone Manta needs and no service


def needed(package: str) -> set[str]:
    """The names of everything that a package needs, itself included, as they are installed here."""
    found: set[str] = set()
    todo = [package]
    while todo:
        name = canonical(todo.pop())
        if name not in found and name not in LEFT_OUT:
            found.add(name)
            todo += [one.name for one in map(Requirement, _wanted(name)) if _applies(one)]
    return found


def part(lock: str, names: set[str]) -> str:
    """The entries of a lock file with these names, hashes included."""
    entries = re.findall(r"^[^\s#].*?(?:\\\n.*?)*$", lock, re.MULTILINE)
    kept = [entry for entry in entries if canonical(re.split(r"[=\[;\s]", entry)[0]) in names]
    return HEAD + "\n".join(re.sub(r" ;.*?(?= \\)", "", entry) for entry in kept) + "\n"  # markers: the image has all


def canonical(name: str) -> str:
    """A package's name as all spellings of it agree on."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _wanted(name: str) -> list[str]:
    """What an installed package asks for; one that this Python does not need is not installed, and asks for nothing."""
    try:
        return importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return []


def _applies(requirement: Requirement) -> bool:
    """Whether a requirement is one for the oldest Python that may be in the image, with the extras that we ask for."""
    places = ({"python_full_version": "3.11.0", "extra": extra} for extra in ("", "nkeys"))
    return requirement.marker is None or any(requirement.marker.evaluate(place) for place in places)


if __name__ == "__main__":
    source, target = map(pathlib.Path, sys.argv[1:])
    target.write_text(part(source.read_text(), needed(WHOLE)))
