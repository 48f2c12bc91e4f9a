"""What the API says of itself: groups, kinds, versions and schemas."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec
from aiohttp import web

from manta_embedded.api.documents import Documents
from manta_embedded.api.names import NAMES, ORDER
from manta_embedded.api.reviews import REVIEWS
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store

JSON = "application/json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
PART_VERBS = ("get", "patch", "update")
PROXY_VERBS = ("create", "delete", "get", "patch", "update")
CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3+manta",
    "gitCommit": "",
    "gitTreeState": "archive",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}
FIXED: dict[str, Obj] = {
    "": {"paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]},
    "version": VERSION,
    "api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
}
# Parts of built-in kinds beside their status: name, kind and its group and version, verbs.
PARTS: dict[tuple[str, str], Sequence[tuple[str, str, str, tuple[str, ...]]]] = {
    ("", "pods"): (
        ("attach", "v1", "PodAttachOptions", ("create", "get")),
        ("binding", "v1", "Binding", ("create",)),
        ("eviction", "policy/v1", "Eviction", ("create",)),
        ("exec", "v1", "PodExecOptions", ("create", "get")),
        ("log", "v1", "Pod", ("get",)),
        ("portforward", "v1", "PodPortForwardOptions", ("create", "get")),
        ("proxy", "v1", "PodProxyOptions", PROXY_VERBS),
    ),
    ("", "services"): (("proxy", "v1", "ServiceProxyOptions", PROXY_VERBS),),
    ("", "namespaces"): (("finalize", "v1", "Namespace", ("update",)),),
    ("", "serviceaccounts"): (("token", "authentication.k8s.io/v1", "TokenRequest", ("create",)),),
}


class Discovery:
    """Answers what leads to no object."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._documents = Documents(store.registry)

    def answer(self, request: web.BaseRequest) -> web.Response:
        """The answer at a path; 404 where nothing is."""
        path = request.rel_url.raw_path.strip("/")
        accept = request.headers.get("Accept", "")
        if (
            path in ("api", "apis")
            and "as=APIGroupDiscoveryList" in accept
            and "v=v2" in accept.replace("v=v2beta1", "")
        ):
            return _answer(self._aggregated(path), AGGREGATED)
        if path.startswith("openapi/v3"):
            found = self._documents.answer(path.removeprefix("openapi/v3").strip("/"))
            return _missing() if found is None else _answer(found)
        plain = self._plain(path)
        return _missing() if plain is None else _answer(plain)

    def _plain(self, path: str) -> Obj | None:
        if path in FIXED:
            return FIXED[path]
        match path.split("/"):
            case ["apis"]:
                groups = [self._group(group) for group in self._groups() if group]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case ["api", version]:
                return self._resources("", version)
            case ["apis", group] if group in self._groups():
                return {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)}
            case ["apis", group, version]:
                return self._resources(group, version)
        return None

    def _groups(self) -> dict[str, dict[str, list[Served]]]:
        """Everything that is served, by group and version, in the order that the API server has."""
        found: dict[str, dict[str, list[Served]]] = {}
        for served in (*self._store.registry.all(), *REVIEWS.values()):
            found.setdefault(served.kind.group, {}).setdefault(served.kind.version, []).append(served)
        ranked = sorted(found, key=lambda group: (ORDER.index(group) if group in ORDER else len(ORDER), group))
        return {group: {version: found[group][version] for version in _by_age(found[group])} for group in ranked}

    def _group(self, group: str) -> Obj:
        versions = [{"groupVersion": f"{group}/{one}", "version": one} for one in self._groups()[group]]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _resources(self, group: str, version: str) -> Obj | None:
        served = self._groups().get(group, {}).get(version)
        if served is None:
            return None
        name = f"{group}/{version}" if group else version
        resources = [row for one in sorted(served, key=_plural) for row in _rows(one)]
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}

    def _aggregated(self, path: str) -> Obj:
        groups = [(group, versions) for group, versions in self._groups().items() if bool(group) == (path == "apis")]
        items = [
            {
                "metadata": {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None},
                "versions": [_version(name, served) for name, served in versions.items()],
            }
            for group, versions in groups
        ]
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _version(name: str, served: Iterable[Served]) -> Obj:
    return {
        "version": name,
        "resources": [_discovered(one) for one in sorted(served, key=_plural)],
        "freshness": "Current",
    }


def _discovered(served: Served) -> Obj:
    kind, names = served.kind, _names(served)
    found: Obj = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": names.get("singular", kind.kind.lower()),
        "verbs": list(_verbs(served)),
    }
    found |= {field: names[field] for field in ("shortNames", "categories") if names.get(field)}
    parts = [
        {"subresource": part, "responseKind": _response(version, name), "verbs": list(verbs)}
        for part, version, name, verbs in _parts(served)
    ]
    return found | ({"subresources": parts} if parts else {})


def _rows(served: Served) -> Iterable[Obj]:
    kind, names = served.kind, _names(served)
    row: Obj = {
        "name": kind.plural,
        "singularName": names.get("singular", kind.kind.lower()),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(_verbs(served)),
    }
    row |= {field: names[field] for field in ("shortNames", "categories") if names.get(field)}
    if set(VERBS) <= set(row["verbs"]):
        row["storageVersionHash"] = hashlib.sha256(f"{served.storage}".encode()).hexdigest()[:11] + "="
    yield row
    for part, version, name, verbs in _parts(served):
        response = _response(version, name)
        found = {"name": f"{kind.plural}/{part}", "singularName": "", "namespaced": kind.namespaced, "kind": name}
        if version != kind.api_version:
            found |= {"group": response["group"], "version": response["version"]}
        yield found | {"verbs": list(verbs)}


def _parts(served: Served) -> list[tuple[str, str, str, tuple[str, ...]]]:
    found = list(PARTS.get(served.storage, ())) if not served.custom else []
    if served.status:
        found.append(("status", served.kind.api_version, served.kind.kind, PART_VERBS))
    if served.scale:
        found.append(("scale", "autoscaling/v1", "Scale", PART_VERBS))
    return sorted(found)


def _response(version: str, name: str) -> Obj:
    group, _, word = version.rpartition("/")
    return {"group": group, "version": word, "kind": name}


def _verbs(served: Served) -> Sequence[str]:
    if (served.kind.group, served.kind.plural) in REVIEWS:
        return ("create",)
    return CUSTOM_VERBS if served.custom else VERBS


def _names(served: Served) -> Obj:
    return served.names or NAMES.get((served.kind.group, served.kind.plural), {})


def _plural(served: Served) -> str:
    return served.kind.plural


def _by_age(versions: Iterable[str]) -> list[str]:
    """Stable versions before betas and alphas, high numbers before low ones."""

    def rank(name: str) -> tuple[int, int, int, str]:
        for level, word in enumerate(("alpha", "beta")):
            major, found, minor = name[1:].partition(word)
            if found and major.isdigit():
                return level + 1, int(major), int(minor or 0), name
        return (3, int(name[1:]), 0, name) if name[1:].isdigit() else (0, 0, 0, name)

    return sorted(versions, key=rank, reverse=True)


def _answer(body: Obj | bytes, content_type: str = JSON) -> web.Response:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return web.Response(body=raw, headers={"Content-Type": content_type, "Vary": "Accept"})


def _missing() -> web.Response:
    return web.Response(status=404, text="404 page not found\n")
