"""Objects survive a restart: one file that only grows, and is now and then written anew with what there is.

Every line has a checksum. A last line that was not written whole is cut off; a file that is broken elsewhere is kept
aside, and the API begins with nothing. Both are told. Lines are handed to the system at once, so that nothing
is lost when the process is killed; only a machine that loses its power may lose the last second.
"""

import logging
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from manta_common.keys import Key
from manta_embedded.api.settings import ApiSettings
from manta_embedded.store.changes import Event
from manta_embedded.store.managers import ManagedFields
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Saved, Store

log = logging.getLogger(__name__)
FILE = "objects.journal"
MAGIC = b"manta objects 1\n"
LEAST_BYTES = 8 * 1024 * 1024  # below that a file is not written anew
GROWTH = 3  # times what a snapshot took
NOTHING = msgspec.Raw(b"null")
Storage = tuple[str, str]
Objects = dict[tuple[Storage, Key], Obj]


class Record(msgspec.Struct, frozen=True, array_like=True):
    """One change: the object as it is from then on, or none."""

    version: int
    storage: Storage
    namespace: str
    name: str
    obj: msgspec.Raw = NOTHING


class Broken(Exception):
    """A file that cannot be read; says where."""


class Journal:
    """The file. `saved` is what it held, None when that was nothing; `notes` tell what was wrong with it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.notes: list[str] = []
        self.saved = self._load()
        self._file = -1
        self._size = self._snapshot_size = 0
        self._behind = False  # the file lacks something: the disk was full
        self._leave: Callable[[], None] = lambda: None

    def follow(self, store: Store, encoded: Callable[[Obj], bytes]) -> None:
        """Write down what there is, and from now on every change."""
        self._store, self._encoded = store, encoded
        self._rewrite()
        self._leave = store.subscribe(self._note)

    def close(self) -> None:
        """Write no more."""
        self._leave()
        if self._file >= 0:
            os.fsync(self._file)
            os.close(self._file)

    def _note(self, event: Event) -> None:
        obj = None if event.type == "DELETED" else self._encoded(event.new)
        self._append(_line(event.version, event.storage, event.key, obj))
        if self._behind or self._size > max(LEAST_BYTES, GROWTH * self._snapshot_size):
            self._renew()

    def _append(self, line: bytes) -> None:
        """Write a line whole or not at all; what could not be written is in the next file."""
        try:
            if os.write(self._file, line) == len(line):
                self._size += len(line)
                return
        except OSError as error:
            self._fail(error)
        self._behind = True
        os.ftruncate(self._file, self._size)

    def _renew(self) -> None:
        try:
            self._rewrite()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        if not self._behind:
            log.error("objects cannot be kept", extra={"file": str(self._path), "error": str(error)})
        self._behind = True

    def _rewrite(self) -> None:
        """Put a new file in the place of the old one, whole or not at all."""
        fresh = self._path.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "wb", closefd=False, buffering=1 << 20) as file:
            file.write(MAGIC)
            file.write(_line(self._store.version, ("", ""), Key("", ""), None))
            file.writelines(
                _line(int(obj["metadata"]["resourceVersion"]), storage, key, self._encoded(obj))
                for storage, key, obj in self._store.everything()
            )
        os.fsync(descriptor)
        fresh.replace(self._path)
        if self._file >= 0:
            os.close(self._file)
        self._file = descriptor
        self._size = self._snapshot_size = self._path.stat().st_size
        self._behind = False

    def _load(self) -> Saved | None:
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            version, objects = self._read(raw)
        except Broken as error:
            self._put_aside(str(error))
            return None
        return version, [(storage, key, obj) for (storage, key), obj in _ordered(objects)]

    def _read(self, raw: bytes) -> tuple[int, Objects]:
        if not raw.startswith(MAGIC):
            raise Broken("it does not begin as such a file does")
        lines = raw[len(MAGIC) :].split(b"\n")
        tail, version, objects = lines.pop(), 0, {}
        found: dict[tuple[Storage, Key], msgspec.Raw] = {}
        for number, line in enumerate(lines, start=2):
            record = _record(line)
            if record is None:
                if number != len(lines) + 1 or tail:
                    raise Broken(f"line {number} is broken")
                tail = line
                break
            version = max(version, record.version)
            place = (record.storage, Key(record.namespace, record.name))
            found.pop(place, None)
            if bytes(record.obj) != b"null":
                found[place] = record.obj
        if tail:
            self.notes.append(f"{self._path}: the last line was not written whole; {len(tail)} bytes are cut off")
        for place, text in found.items():
            objects[place] = _object(text)
        return version, objects

    def _put_aside(self, why: str) -> None:
        number = 1
        while (aside := self._path.with_suffix(f".broken-{number}")).exists():
            number += 1
        self._path.rename(aside)
        self.notes.append(f"{self._path}: {why}; it is kept as {aside.name}, and the API begins with nothing")


class NoJournal:
    """Nothing is kept."""

    def __init__(self) -> None:
        self.saved: Saved | None = None
        self.notes: list[str] = []

    def follow(self, store: Store, encoded: Callable[[Obj], bytes]) -> None:
        """Nothing."""


@contextmanager
def journal_of(settings: ApiSettings) -> Iterator[Journal | NoJournal]:
    """The journal that the settings ask for; only one process at a time may have it."""
    if not settings.persistent:
        yield NoJournal()
        return
    journal = Journal(settings.folder / FILE)
    try:
        yield journal
    finally:
        journal.close()


def _line(version: int, storage: Storage, key: Key, obj: bytes | None) -> bytes:
    record = Record(version, storage, key.namespace, key.name, NOTHING if obj is None else msgspec.Raw(obj))
    body = msgspec.json.encode(record)
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _record(line: bytes) -> Record | None:
    """The record of a line; None when the line is broken."""
    body = line[9:]
    if line[:8] != b"%08x" % zlib.crc32(body):
        return None
    try:
        return msgspec.json.decode(body, type=Record)
    except msgspec.DecodeError:
        return None


def _object(text: msgspec.Raw) -> Obj:
    obj = msgspec.json.decode(text, type=dict[str, Any])
    obj["metadata"]["managedFields"] = ManagedFields.written(obj["metadata"].get("managedFields") or ())
    return obj


def _ordered(objects: Objects) -> Iterable[tuple[tuple[Storage, Key], Obj]]:
    """Definitions first: their kinds must be known before their objects are."""
    return sorted(objects.items(), key=lambda one: one[0][0][1] != "customresourcedefinitions")
