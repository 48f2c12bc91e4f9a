"""Show objects: a table as `kubectl get` has it, or JSON, YAML or names for programs."""

import argparse
from collections.abc import Sequence
from typing import Any

from manta_cli import cells, kinds
from manta_cli.session import Session, add_cluster, add_output
from manta_common.kinds import Kind
from manta_common.kube.protocol import KindMissing, Scope


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta get`."""
    parser.add_argument(
        "kinds", metavar="KIND[,KIND]", help="raycluster, rayjob, rayservice, raycronjob, pod, ... or all"
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="these objects only")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="of all namespaces")
    parser.add_argument("-l", "--selector", metavar="LABELS", default="", help="with these labels, such as a=b,c!=d")
    add_output(parser)
    add_cluster(parser)


async def get(session: Session) -> int:
    """Show what was asked for."""
    wanted, found = kinds.named(session.options.kinds), list[tuple[Kind, dict[str, Any]]]()
    for kind in wanted:
        try:
            found += [(kind, obj) for obj in await objects(session, kind)]
        except KindMissing:
            if len(wanted) == 1:
                raise
    if session.options.output in ("json", "yaml"):
        session.console.document(
            _document([obj for _, obj in found], bool(session.options.names)), session.options.output
        )
    elif session.options.output == "name":
        for kind, obj in found:
            session.console.say(f"{kind.name}/{obj['metadata']['name']}")
    else:
        _tables(session, wanted, found)
    return 0


async def objects(session: Session, kind: Kind) -> list[dict[str, Any]]:
    """The objects of a kind that the options ask for, whole."""
    options = session.options
    if options.names:
        return [_whole(kind, await session.kube.get(kind, session.key(kind, name), dict)) for name in options.names]
    namespace = "" if options.all_namespaces or not kind.namespaced else session.namespace
    listing = await session.kube.list(kind, dict, Scope(namespace=namespace, labels=options.selector))
    return [_whole(kind, obj) for obj in listing.items]


def _whole(kind: Kind, obj: dict[str, Any]) -> dict[str, Any]:
    """With the kind that items of a list lack, and without what only the server needs."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {"apiVersion": kind.api_version, "kind": kind.kind, **obj, "metadata": metadata}


def _document(found: Sequence[dict[str, Any]], by_name: bool) -> dict[str, Any]:
    if by_name and len(found) == 1:
        return found[0]
    return {"apiVersion": "v1", "kind": "List", "items": list(found)}


def _tables(session: Session, wanted: Sequence[Kind], found: Sequence[tuple[Kind, dict[str, Any]]]) -> None:
    wide, everywhere = session.options.output == "wide", session.options.all_namespaces
    now, first = session.kube.now(), True
    for kind in wanted:
        rows = [cells.row(kind, obj, now, wide=wide, namespaces=everywhere) for of, obj in found if of == kind]
        if rows:
            if not first:
                session.console.say()
            first = False
            session.console.table(cells.header(kind, wide=wide, namespaces=everywhere), rows)
    if first:
        place = "any namespace" if everywhere else f"namespace {session.namespace}"
        session.console.tell(f"no {', '.join(kind.plural for kind in wanted)} in {place}")
