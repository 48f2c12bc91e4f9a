"""CRDs of Ray on a real API server: put there, and waited for until they are served."""

import functools
import pathlib
from typing import Any

from manta_common.crd.definitions import KINDS, Kind
from tests.parts.cluster import ApiError, Cluster
from tests.parts.process import wait_until
from tests.tools.build import fetch
from tests.tools.catalogue import GATEWAY_API

OURS = pathlib.Path(__file__).parents[2] / "deploy" / "crds"
WITNESS = "tlsOptions"  # in our CRDs, and not in those of KubeRay 1.6.2
GATEWAY_KINDS = ("gatewayclasses", "gateways", "httproutes")
LIMIT_SECONDS = 60


def install(cluster: Cluster, folder: pathlib.Path = OURS) -> None:
    """Put a folder's CRDs in place of what is there, by server-side apply, and wait until they are served."""
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(folder))
    for kind in KINDS:
        text = (folder / f"ray.io_{kind.plural}.yaml").read_text()
        wait_until(
            f"the API server serves {kind.plural} as {folder} has them",
            functools.partial(_serves, cluster, kind, new=f" {WITNESS}:" in text),
            limit_seconds=LIMIT_SECONDS,
        )


def install_gateway_api(cluster: Cluster) -> None:
    """The definitions of Gateways and HTTPRoutes as their project publishes them."""
    folder = fetch(GATEWAY_API)
    for plural in GATEWAY_KINDS:
        cluster.kubectl("apply", "--server-side", "-f", str(folder / f"gateway.networking.k8s.io_{plural}.yaml"))
    for plural in GATEWAY_KINDS:
        path = f"apis/gateway.networking.k8s.io/v1/{plural}"
        wait_until(
            f"the API server serves {plural}",
            functools.partial(_answers, cluster, path),
            limit_seconds=LIMIT_SECONDS,
        )


def _answers(cluster: Cluster, path: str) -> bool:
    try:
        cluster.request("GET", path)
    except ApiError:
        return False
    return True


def _serves(cluster: Cluster, kind: Kind, *, new: bool) -> bool:
    """Whether the server admits a field that not all CRDs have, or refuses it, as it should; a new kind says 429."""
    where = f"apis/ray.io/v1/namespaces/default/{kind.plural}?fieldValidation=Strict&dryRun=All"
    body = {"apiVersion": "ray.io/v1", "kind": kind.name, "metadata": {"name": "witness"}, "spec": _spec(kind.name)}
    try:
        cluster.request("POST", where, body)
    except ApiError as error:
        return error.code == 400 and not new
    return new


def _spec(kind: str) -> dict[str, Any]:
    """The least spec of a kind, with the witness in it."""
    cluster: dict[str, Any] = {"headGroupSpec": {"template": {}}, WITNESS: {}}
    job = {"rayClusterSpec": cluster}
    return {
        "RayCluster": cluster,
        "RayJob": job,
        "RayService": {"rayClusterConfig": cluster},
        "RayCronJob": {"schedule": "@daily", "jobTemplate": job},
    }[kind]
