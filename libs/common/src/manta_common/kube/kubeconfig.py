"""Kubeconfig files: the cluster and the user of a context, and what they say in files or by themselves.

kubernetes_asyncio reads them too, but its import takes half a second and 35 MiB; only `sign_on` still needs it.
"""

import atexit
import base64
import functools
import os
import pathlib
import tempfile
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from manta_common.errors import Misconfigured

KINDS: Final = ("clusters", "contexts", "users")


class Section(msgspec.Struct, frozen=True):
    """What a kubeconfig says of a cluster or a user; files that it names are looked for beside it."""

    content: Mapping[str, Any]
    folder: pathlib.Path

    def __contains__(self, name: str) -> bool:
        return name in self.content

    def text(self, name: str) -> str:
        """A value as text; nothing when it is not there."""
        value = self.content.get(name)
        return "" if value is None else str(value)

    def file(self, name: str) -> str:
        """The file that a value names, or one with the content that stands here instead; nothing without either."""
        if f"{name}-data" in self.content:
            encoded = self.text(f"{name}-data")
            return _private_file(base64.standard_b64decode(encoded)) if encoded else ""
        named = self.text(name)
        path = pathlib.Path(os.path.normpath(self.folder / named))
        if named and not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        return str(path) if named else ""

    def authorization(self) -> str:
        """What a user says to the server in each request; nothing when it shows a certificate or is nobody."""
        token = self.text("token")
        if "token" not in self.content and (named := self.text("tokenFile")):
            token = (self.folder / named).read_text().strip()
        if token:
            return f"Bearer {token}"
        if "username" in self.content and "password" in self.content:
            both = f"{self.content['username']}:{self.content['password']}"
            return f"Basic {base64.b64encode(both.encode()).decode()}"
        return ""


def sections(paths: str, context: str = "") -> tuple[Section, Section]:
    """The cluster and the user of a context, or of the current one; what is wrong with the files is a ValueError.

    Of two entries with one name, and of two current contexts, the first file's counts, as for kubectl.
    """
    found: dict[str, dict[str, tuple[Any, pathlib.Path]]] = {kind: {} for kind in KINDS}
    current = ""
    for file in _files(paths):
        document = _document(file)
        current = current or str(document.get("current-context") or "")
        for kind in KINDS:
            for entry in document.get(kind) or ():
                found[kind].setdefault(entry["name"], (entry, file))
    if not (context or current):
        raise ValueError("there is no current context")
    chosen = _section(found, "context", context or current)
    return _section(found, "cluster", chosen.text("cluster")), _section(found, "user", chosen.text("user"))


def _files(paths: str) -> list[pathlib.Path]:
    named = [pathlib.Path(path).expanduser() for path in paths.split(os.pathsep) if path]
    there = [path for path in named if path.exists()]
    if not there:
        raise Misconfigured(f"there is no kubeconfig at {paths}: name one, or run in a pod")
    return there


def _document(file: pathlib.Path) -> Mapping[str, Any]:
    import yaml  # noqa: PLC0415  only where a kubeconfig is used

    try:
        document = yaml.safe_load(file.read_text())
    except yaml.YAMLError as error:
        raise ValueError(f"{file} is not YAML: {error}") from error
    if not isinstance(document, Mapping):
        raise TypeError(f"{file} says nothing")
    return document


def _section(found: Mapping[str, Mapping[str, tuple[Any, pathlib.Path]]], kind: str, name: str) -> Section:
    if not name:
        raise ValueError(f"the context names no {kind}")
    if name not in found[f"{kind}s"]:
        raise ValueError(f"there is no {kind} {name}")
    entry, file = found[f"{kind}s"][name]
    if not isinstance(entry.get(kind), Mapping):
        raise TypeError(f"the {kind} {name} has no content")
    return Section(entry[kind], file.absolute().parent)


@functools.cache
def _private_file(content: bytes) -> str:
    """A file that only we may read, until this process ends: OpenSSL takes certificates and keys from files only."""
    handle, name = tempfile.mkstemp(prefix="manta-")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    atexit.register(pathlib.Path(name).unlink, missing_ok=True)
    return name
