"""Make objects as files say, or change them to that, by server-side apply; and delete objects."""

import argparse
import asyncio
import pathlib
import sys
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from manta_cli import kinds
from manta_cli.failures import Failed
from manta_cli.session import Session, add_cluster, add_output
from manta_common.errors import MantaError, NotFound, Refused
from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube.protocol import Apply, KindMissing

MANAGER: Final = "manta-cli"
POLL_SECONDS: Final = 0.5
_SUFFIXES: Final = (".yaml", ".yml", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta apply`."""
    _add_files(parser, required=True)
    parser.add_argument("--force", action="store_true", help="take over fields that others have set")
    add_output(parser, "table", "json", "yaml", "name")
    add_cluster(parser)


def add_delete_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta delete`."""
    parser.add_argument("kind", metavar="KIND", nargs="?", default="", help="raycluster, rayjob, pod, ...")
    parser.add_argument("names", metavar="NAME", nargs="*", help="the objects")
    _add_files(parser, required=False)
    parser.add_argument("--ignore-not-found", action="store_true", help="what is gone already is no failure")
    parser.add_argument("--wait", action="store_true", help="return when they are gone")
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=300.0, help="how long to wait; 300 by default"
    )
    add_cluster(parser)


def _add_files(parser: argparse.ArgumentParser, *, required: bool) -> None:
    text = "YAML or JSON, a folder of such files, or - for standard input; may be repeated"
    parser.add_argument("-f", "--filename", metavar="FILE", action="append", required=required, default=[], help=text)


async def apply(session: Session) -> int:
    """Apply every object of the files; all of them are tried."""
    results, failures = list[dict[str, Any]](), 0
    for where, manifest in manifests(session.options.filename):
        try:
            made, said = await _applied(session, manifest)
        except KindMissing as error:
            failures += 1
            session.console.tell(f"manta apply: {where}: {error} (`manta crds apply` installs Ray's)")
            continue
        except (MantaError, Failed) as error:
            failures += 1
            session.console.tell(f"manta apply: {where}: {error}")
            continue
        results.append(made)
        if session.options.output in ("table", "name"):
            session.console.say(said if session.options.output == "table" else said.split()[0])
    if session.options.output in ("json", "yaml"):
        session.console.document({"apiVersion": "v1", "kind": "List", "items": results}, session.options.output)
    return 1 if failures else 0


async def _applied(session: Session, manifest: dict[str, Any]) -> tuple[dict[str, Any], str]:
    kind = await _kind(session, manifest)
    key = _key(session, kind, manifest)
    before = await _version(session, kind, key)
    made = await session.kube.patch(kind, key, Apply(manifest, MANAGER, force=session.options.force), dict)
    made["metadata"].pop("managedFields", None)
    after = made["metadata"]["resourceVersion"]
    verb = "created" if before is None else "unchanged" if before == after else "configured"
    return made, f"{kind.name}/{key.name} {verb}"


async def _version(session: Session, kind: Kind, key: Key) -> str | None:
    try:
        found = await session.kube.get(kind, key, dict)
    except KindMissing:
        raise
    except NotFound:
        return None
    return str(found["metadata"]["resourceVersion"])


async def _kind(session: Session, manifest: dict[str, Any]) -> Kind:
    """The kind of a manifest; the API server is asked for those that we do not know."""
    known = kinds.of_manifest(manifest)
    if known:
        return known
    version = str(manifest["apiVersion"])
    path = f"/apis/{version}" if "/" in version else f"/api/{version}"
    served = msgspec.json.decode(await session.kube.fetch(path), type=kinds.Resources).resources
    found = kinds.of_resources(manifest, served)
    if found is None:
        raise Failed(f"the API server serves no {manifest['kind']} in {version}; check apiVersion and kind")
    return found


def _key(session: Session, kind: Kind, manifest: dict[str, Any]) -> Key:
    meta = manifest["metadata"]
    return Key(meta.get("namespace") or session.namespace if kind.namespaced else "", meta["name"])


async def delete(session: Session) -> int:
    """Delete what was named; all of it is tried."""
    options, failures, places = session.options, 0, list[tuple[Kind, Key]]()
    if options.kind and options.names:
        (kind,) = kinds.named(options.kind)[:1]
        places += [(kind, session.key(kind, name)) for name in options.names]
    for _, manifest in manifests(options.filename):
        found = await _kind(session, manifest)
        places.append((found, _key(session, found, manifest)))
    if not places:
        raise Failed("say what to delete: manta delete KIND NAME, or -f FILE", 2)
    going = []
    for kind, key in places:
        uid = await _deleted(session, kind, key)
        failures += uid is None
        going += [(kind, key, uid)] if uid else []
    if options.wait:
        await _until_gone(session, going)
    return 1 if failures else 0


async def _deleted(session: Session, kind: Kind, key: Key) -> str | None:
    """Delete one object; its uid, nothing if it is gone already, None if it cannot be deleted."""
    try:
        uid = str((await session.kube.get(kind, key, dict))["metadata"]["uid"])
        await session.kube.delete(kind, key, uid=uid)
    except NotFound as error:
        if session.options.ignore_not_found:
            return ""
        session.console.tell(f"manta delete: {error}")
        return None
    except Refused as error:
        session.console.tell(f"manta delete: {error}")
        return None
    session.console.say(f"{kind.name}/{key.name} deleted")
    return uid


async def _until_gone(session: Session, going: list[tuple[Kind, Key, str]]) -> None:
    try:
        async with asyncio.timeout(session.options.timeout):
            while going:
                await asyncio.sleep(POLL_SECONDS)
                going = [one for one in going if await _uid(session, one[0], one[1]) == one[2]]
    except TimeoutError as error:
        raise Failed(f"not everything is gone after {session.options.timeout:.0f} s; see `manta describe`") from error


async def _uid(session: Session, kind: Kind, key: Key) -> str:
    try:
        return str((await session.kube.get(kind, key, dict))["metadata"]["uid"])
    except NotFound:
        return ""


def manifests(files: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the files with where it stands; one that is no object is told with what is missing."""
    for path in _paths(files):
        text = _read(path)
        try:
            documents = list(yaml.safe_load_all(text))
        except yaml.YAMLError as error:
            raise Failed(f"{path} is not YAML: {error}") from error
        for number, document in enumerate(documents, start=1):
            where = f"{path}, document {number}"
            for manifest in _objects(document):
                yield where, _checked(where, manifest)


def _objects(document: Any) -> list[Any]:
    if document is None:
        return []
    is_list = isinstance(document, dict) and str(document.get("kind", "")).endswith("List")
    return list(document.get("items") or ()) if is_list else [document]


def _checked(where: str, manifest: Any) -> dict[str, Any]:
    if not isinstance(manifest, dict):
        raise Failed(f"{where} is not an object: it needs apiVersion, kind and metadata.name")
    for name in ("apiVersion", "kind", "metadata"):
        if not manifest.get(name):
            raise Failed(f"{where} has no {name}: add it")
    if not isinstance(manifest["metadata"], dict) or not manifest["metadata"].get("name"):
        raise Failed(f"{where} has no metadata.name: add it (generateName cannot be applied)")
    return manifest


def _paths(files: list[str]) -> Iterator[str]:
    for file in files:
        path = pathlib.Path(file)
        if file == "-" or not path.is_dir():
            yield file
        else:
            yield from (str(one) for one in sorted(path.iterdir()) if one.suffix in _SUFFIXES)


def _read(path: str) -> str:
    try:
        return sys.stdin.read() if path == "-" else pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"{path} cannot be read: {error}") from error
