"""Tell all about one object: what it should be, what it is, its conditions, its pods and what happened to it."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from manta_cli import cells, kinds
from manta_cli.session import Session, add_cluster
from manta_common.api import labels
from manta_common.kinds import EVENT, POD, RAYCLUSTER, RAYJOB, RAYSERVICE, Kind
from manta_common.kube.protocol import Scope

_CLUSTERS_OF = {
    RAYCLUSTER: [".metadata.name"],
    RAYJOB: [".status.rayClusterName"],
    RAYSERVICE: [f".status.{side}ServiceStatus.rayClusterName" for side in ("active", "pending")],
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta describe`."""
    parser.add_argument("kind", metavar="KIND", help="raycluster, rayjob, rayservice, raycronjob, pod, ...")
    parser.add_argument("name", metavar="NAME", help="the object")
    add_cluster(parser)


async def describe(session: Session) -> int:
    """Tell about the object."""
    (kind,) = kinds.named(session.options.kind)[:1]
    obj = await session.kube.get(kind, session.key(kind, session.options.name), dict)
    for line in _heading(kind, obj):
        session.console.say(line)
    await _pods(session, kind, obj)
    await _events(session, obj)
    return 0


def _heading(kind: Kind, obj: Mapping[str, Any]) -> Iterator[str]:
    meta = obj["metadata"]
    yield from _lines({"Name": meta["name"], "Namespace": meta.get("namespace", ""), "Kind": kind.kind}, 0)
    for name in ("labels", "annotations"):
        if meta.get(name):
            yield f"{name.capitalize()}:"
            yield from _lines(meta[name], 1)
    for name in ("spec", "status"):
        if obj.get(name):
            yield f"{name.capitalize()}:"
            yield from _lines({key: value for key, value in obj[name].items() if key != "conditions"}, 1)
    if cells.conditions(obj):
        yield "Conditions:"
        for one in cells.conditions(obj):
            yield f"  {one['type']}={one['status']}  {one.get('reason', '')}: {one.get('message', '')}"


def _lines(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    """A value as indented lines."""
    pad = "  " * depth
    for name, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield f"{pad}{name}:"
            yield from _lines(inner, depth + 1)
        elif isinstance(inner, list) and any(isinstance(item, Mapping) for item in inner):
            yield f"{pad}{name}:"
            for number, item in enumerate(inner):
                yield from _lines({f"[{number}]": item}, depth + 1)
        else:
            yield f"{pad}{name}: {_plain(inner)}"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value) if value not in ({}, None) else "-"


async def _pods(session: Session, kind: Kind, obj: Mapping[str, Any]) -> None:
    """The pods of its cluster, or of both while one replaces the other."""
    for name in filter(None, (cells.at(obj, path) for path in _CLUSTERS_OF.get(kind, ()))):
        scope = Scope(namespace=obj["metadata"]["namespace"], labels=f"{labels.CLUSTER}={name}")
        pods = (await session.kube.list(POD, dict, scope)).items
        now = session.kube.now()
        if pods:
            session.console.say(f"Pods of {name}:")
            for line in session.console.lines(cells.header(POD), [cells.row(POD, pod, now) for pod in pods]):
                session.console.say(f"  {line}")


async def _events(session: Session, obj: Mapping[str, Any]) -> None:
    namespace = obj["metadata"].get("namespace", "default")
    found = (await session.kube.list(EVENT, dict, Scope(namespace=namespace))).items
    own = [event for event in found if event.get("regarding", {}).get("uid") == obj["metadata"]["uid"]]
    own.sort(key=_when)
    session.console.say("Events:" if own else "Events: none")
    now = session.kube.now()
    for event in own:
        session.console.say(
            f"  {cells.age(_when(event), now):>6}  {event['type']}  {event['reason']}: {event.get('note', '')}"
        )


def _when(event: Mapping[str, Any]) -> str:
    """When an event was last seen."""
    series = event.get("series") or {}
    return str(series.get("lastObservedTime") or event.get("eventTime") or event["metadata"]["creationTimestamp"])
