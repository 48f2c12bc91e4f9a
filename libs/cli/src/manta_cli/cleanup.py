"""Show what the janitor will delete, when and by which rule, first what comes first."""

import argparse
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from manta_cli import cells
from manta_cli.session import Session, add_cluster, add_output
from manta_common.kinds import RAYJOB
from manta_common.kube.protocol import Scope

CONDITION: Final = "CleanupScheduled"
_MESSAGE: Final = re.compile(r"^(?P<what>.*) will be deleted at (?P<at>\S+) by (?P<rule>.*)$")


class Planned(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One deletion that is planned."""

    namespace: str
    name: str
    policy: str
    what: str
    at: str
    rule: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta cleanup`."""
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="of all namespaces")
    add_output(parser, "table", "json", "yaml")
    add_cluster(parser)


async def cleanup(session: Session) -> int:
    """Show the queue."""
    namespace = "" if session.options.all_namespaces else session.namespace
    jobs = (await session.kube.list(RAYJOB, dict, Scope(namespace=namespace))).items
    found = sorted((one for one in map(planned, jobs) if one), key=lambda one: (one.at, one.namespace, one.name))
    if session.options.output != "table":
        session.console.document(msgspec.to_builtins(found), session.options.output)
    elif found:
        now = session.kube.now()
        header = ["NAMESPACE", "RAYJOB", "DELETES", "IN", "AT", "RULE"]
        session.console.table(header, [[*_row(one, now)] for one in found])
    else:
        session.console.tell(
            f"nothing is planned to be deleted in {f'namespace {namespace}' if namespace else 'any namespace'}"
        )
    return 0


def planned(job: Mapping[str, Any]) -> Planned | None:
    """What a RayJob's condition says will be deleted next, if anything."""
    for condition in cells.conditions(job):
        told = _MESSAGE.match(condition.get("message", ""))
        if condition["type"] == CONDITION and condition["status"] == "True" and told:
            meta = job["metadata"]
            return Planned(
                namespace=meta["namespace"],
                name=meta["name"],
                policy=condition["reason"],
                what=told["what"],
                at=told["at"],
                rule=told["rule"],
            )
    return None


def _row(one: Planned, now: datetime) -> tuple[str, ...]:
    seconds = int((cells.parsed(one.at) - now).total_seconds())
    left = cells.duration(seconds) if seconds > 0 else "now"
    return (one.namespace, one.name, one.what.removeprefix("the "), left, one.at, one.rule)
