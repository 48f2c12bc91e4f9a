"""Objects of our kinds on a real API server: made, refused and shown."""

import json
import urllib.request
from typing import Any, NamedTuple

import msgspec

from manta_common.crd.definitions import KINDS, Kind
from tests.parts.cluster import ApiError, Cluster
from tests.parts.patience import patient

KIND_OF = {kind.name: kind for kind in KINDS}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
# The least that makes an object of each kind.
LEAST: dict[str, dict[str, Any]] = {
    "RayCluster": {"headGroupSpec": {"template": {}}},
    "RayJob": {},
    "RayService": {"rayClusterConfig": {"headGroupSpec": {"template": {}}}},
    "RayCronJob": {"schedule": "@daily", "jobTemplate": {}},
}


class Answer(NamedTuple):
    """What the API server said, with its warnings."""

    body: dict[str, Any]
    warnings: list[str]


def manifest(kind: str, spec: dict[str, Any], name: str = "it") -> dict[str, Any]:
    """An object of a kind."""
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def path(kind: str, namespace: str, *rest: str, version: str = "v1") -> str:
    """Where the objects of a kind are."""
    return "/".join([f"apis/ray.io/{version}/namespaces/{namespace}/{KIND_OF[kind].plural}", *rest])


def created(cluster: Cluster, namespace: str, one: dict[str, Any], *, dry: bool = False) -> Any:
    """Create an object; with `dry`, only ask whether it would be admitted."""
    where = path(one["kind"], namespace)
    return cluster.request("POST", f"{where}?fieldValidation=Strict{'&dryRun=All' if dry else ''}", one)


def refusals(error: ApiError) -> list[tuple[str, str]]:
    """The fields that an answer complains of, and what it says of each."""
    causes = error.status.get("details", {}).get("causes", [])
    return [(cause.get("field", ""), cause.get("message", "")) for cause in causes]


def ask(cluster: Cluster, where: str, body: Any = None, accept: str = "application/json") -> Answer:
    """One request whose headers matter: a POST if there is a body, else a GET."""
    request = urllib.request.Request(
        f"{cluster.server}/{where}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json", "Accept": accept},
    )
    with urllib.request.urlopen(request, context=cluster.tls, timeout=patient(30)) as answer:
        return Answer(json.load(answer), answer.headers.get_all("Warning") or [])


def is_readable(kind: Kind, value: Any) -> bool:
    """Whether our types can read an object."""
    try:
        msgspec.json.decode(json.dumps(value), type=kind.type)
    except msgspec.ValidationError:
        return False
    return True
