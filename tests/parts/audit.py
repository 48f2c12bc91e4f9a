"""What service accounts asked of the API server, and what they were refused, by its audit log."""

import json
import pathlib
from collections.abc import Iterator
from typing import NamedTuple

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
        {"level": "None"},
    ],
}
OK, CREATED = 200, 201
Use = tuple[str, str, str]  # verb, group, resource with its part


def used(log: pathlib.Path, namespace: str, account: str) -> set[Use]:
    """What an account did, or was let try."""
    return {use for use, allowed in _uses(log, f"system:serviceaccount:{namespace}:{account}") if allowed}


def forbidden(log: pathlib.Path, namespace: str, account: str) -> set[Use]:
    """What an account was refused for want of a right."""
    return {use for use, allowed in _uses(log, f"system:serviceaccount:{namespace}:{account}") if not allowed}


class Write(NamedTuple):
    """Something that a service account created or deleted."""

    at: str
    verb: str
    name: str


def writes(log: pathlib.Path, namespace: str, resource: str) -> list[Write]:
    """What service accounts created and deleted of a kind in a namespace, in order."""
    found = []
    for line in _lines(log):
        if f'"resource":"{resource}"' not in line:
            continue
        event = json.loads(line)
        place = event["objectRef"]
        if event["verb"] not in ("create", "delete") or "subresource" in place or place.get("namespace") != namespace:
            continue
        if event["responseStatus"]["code"] in (OK, CREATED):
            found.append(Write(event["requestReceivedTimestamp"], event["verb"], place["name"]))
    return sorted(found)


def _lines(log: pathlib.Path) -> list[str]:
    """The whole lines: the last one may be being written."""
    return [line for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _uses(log: pathlib.Path, user: str) -> Iterator[tuple[Use, bool]]:
    for line in _lines(log):
        if f'"{user}"' not in line:
            continue
        event = json.loads(line)
        place = event.get("objectRef")
        if event["user"]["username"] == user and place:
            resource = "/".join(filter(None, (place["resource"], place.get("subresource", ""))))
            allowed = event["annotations"].get("authorization.k8s.io/decision") == "allow"
            yield (event["verb"], place.get("apiGroup", ""), resource), allowed
