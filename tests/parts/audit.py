"""What service accounts asked of the API server, and what they were refused, by its audit log."""

import json
import pathlib
from collections.abc import Iterator

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
CREATED = 201
Use = tuple[str, str, str]  # verb, group, resource with its part


def used(log: pathlib.Path, namespace: str, account: str) -> set[Use]:
    """What an account did, or was let try."""
    return {use for use, allowed in _uses(log, f"system:serviceaccount:{namespace}:{account}") if allowed}


def forbidden(log: pathlib.Path, namespace: str, account: str) -> set[Use]:
    """What an account was refused for want of a right."""
    return {use for use, allowed in _uses(log, f"system:serviceaccount:{namespace}:{account}") if not allowed}


def created(log: pathlib.Path, namespace: str, resource: str) -> list[str]:
    """The names of what service accounts created in a namespace, as often as they did."""
    found = []
    for line in log.read_text().splitlines():
        if '"verb":"create"' not in line or f'"resource":"{resource}"' not in line:
            continue
        event = json.loads(line)
        place, code = event["objectRef"], event["responseStatus"]["code"]
        if code == CREATED and place["namespace"] == namespace and "subresource" not in place:
            found.append(place["name"])
    return found


def _uses(log: pathlib.Path, user: str) -> Iterator[tuple[Use, bool]]:
    for line in log.read_text().splitlines():
        if f'"{user}"' not in line:
            continue
        event = json.loads(line)
        place = event.get("objectRef")
        if event["user"]["username"] == user and place:
            resource = "/".join(filter(None, (place["resource"], place.get("subresource", ""))))
            allowed = event["annotations"].get("authorization.k8s.io/decision") == "allow"
            yield (event["verb"], place.get("apiGroup", ""), resource), allowed
