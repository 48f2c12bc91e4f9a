"""What a request is about, read from its method and path as the API server reads them."""

from collections.abc import Mapping
from urllib.parse import unquote

import msgspec

VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
COLLECTION_VERBS = {"get": "list", "delete": "deletecollection"}
OF_A_NAMESPACE = ("status", "finalize")
PROXY = "proxy"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One request. `resource` is empty for a path that leads to no resource, such as /version."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def asked(method: str, path: str, query: Mapping[str, str]) -> Asked:
    """What is asked; verbs are those that RBAC rules name."""
    verb = VERBS.get(method, method.lower())
    parts = [unquote(part) if "%" in part else part for part in path.split("/") if part]
    start = {"api": 2, "apis": 3}.get(parts[0] if parts else "", 0)
    if not start or len(parts) <= start:
        return Asked(verb=verb, path=path)
    group = parts[1] if start == 3 else ""
    namespace, rest = _placed(parts[start:])
    name = rest[1] if len(rest) > 1 else ""
    if not name:
        verb = COLLECTION_VERBS.get(verb, verb)
        if verb == "list" and query.get("watch") in ("1", "true", "True"):
            verb = "watch"
    return Asked(
        verb=verb,
        path=path,
        group=group,
        version=parts[start - 1],
        resource=rest[0],
        namespace=namespace,
        name=name,
        subresource=PROXY if rest[2:3] == [PROXY] else "/".join(rest[2:]),  # what follows is not the API's
    )


def _placed(rest: list[str]) -> tuple[str, list[str]]:
    """The namespace that a path is in, and what follows it."""
    if rest[0] != "namespaces" or len(rest) < 2:
        return "", rest
    if len(rest) > 2 and rest[2] not in OF_A_NAMESPACE:
        return rest[1], rest[2:]
    return rest[1], rest
