"""A real API server takes everything that is built from a cluster, with every field known to it."""

from collections.abc import Iterator
from typing import Any

import pytest

from manta_common import kinds
from manta_common.api.raycluster import RayCluster
from manta_common.ray.auth import auth_secret
from manta_common.ray.claims import gcs_claim
from manta_common.ray.cleanup import redis_cleanup_job
from manta_common.ray.ingress import ingress
from manta_common.ray.names import Place
from manta_common.ray.network import network_policies
from manta_common.ray.pods import head_pod, worker_pods
from manta_common.ray.rbac import role, role_binding, service_account
from manta_common.ray.services import head_service, headless_service, serve_service
from manta_common.ray.settings import RaySettings
from tests.parts.cluster import Cluster
from tests.unit.manta_common.ray.clusters import ALL_GATES, GROUP, HEAD, RAY, SETTINGS, cluster

KINDS = (
    kinds.POD,
    kinds.SERVICE,
    kinds.SECRET,
    kinds.SERVICEACCOUNT,
    kinds.PVC,
    kinds.JOB,
    kinds.ROLE,
    kinds.ROLEBINDING,
    kinds.INGRESS,
    kinds.NETWORKPOLICY,
)
BY_NAME = {(kind.api_version, kind.kind): kind for kind in KINDS}
AMOUNTS = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
RULES = {"ingressRules": [{"ports": [{"port": 1}]}], "egressRules": [{}]}
EVERYTHING = {
    "spec.rayVersion": "2.55.0",
    "spec.enableInTreeAutoscaling": True,
    "spec.autoscalerOptions": {"version": "v2", "env": [{"name": "A", "value": "b"}]},
    "spec.authOptions": {"mode": "token", "enableK8sTokenAuth": True},
    "spec.tlsOptions": {"enabled": True},
    "spec.historyServerOptions": {"collectorOptions": {"image": "collector"}},
    "spec.networkPolicy": {"head": RULES, "worker": RULES},
    "metadata.annotations": {"note": "x", "kubernetes.io/ingress.class": "nginx"},
    f"{HEAD}.{RAY}.resources": AMOUNTS,
    f"{HEAD}.ingressOptions": {"host": "ray.example", "tls": [{"hosts": ["ray.example"], "secretName": "s"}]},
    f"{GROUP}.{RAY}.resources": AMOUNTS,
    f"{GROUP}.template.spec.serviceAccountName": "demo",
    f"{GROUP}.numOfHosts": 2,
    f"{GROUP}.resources": {"TPU": "4"},
    f"{GROUP}.labels": {"zone": "a"},
}
REDIS = {"redisAddress": "redis:6379", "redisPassword": {"value": "x"}}


def everything(made: RayCluster, settings: RaySettings) -> Iterator[dict[str, Any]]:
    """Every object that a cluster may have."""
    group = made.spec.worker_group_specs[0]
    yield from (role(made), role_binding(made), auth_secret(made, bytes(32)), gcs_claim(made), ingress(made))
    yield from (head_service(made, settings), headless_service(made), serve_service(made))
    yield from network_policies(made)
    yield head_pod(made, 0, settings)
    yield from worker_pods(made, group, [Place(0, 0), Place(0, 1)], settings)
    yield redis_cleanup_job(made, settings)


@pytest.fixture(scope="module")
def space(kubernetes: Cluster) -> Iterator[str]:
    """A namespace in which the pods' account is there."""
    with kubernetes.fresh_namespace("ray-objects") as namespace:
        account = service_account(cluster({"metadata.namespace": namespace}))
        kubernetes.request("POST", kinds.SERVICEACCOUNT.path(namespace), account)
        yield namespace


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        pytest.param({}, SETTINGS, id="a small cluster"),
        pytest.param(EVERYTHING, ALL_GATES, id="a cluster with everything"),
        pytest.param({"spec.gcsFaultToleranceOptions": REDIS}, SETTINGS, id="a cluster with its state in Redis"),
        pytest.param(
            {"spec.gcsFaultToleranceOptions": {"backend": "rocksdb"}, f"{HEAD}.serviceType": "NodePort"},
            ALL_GATES,
            id="a cluster with its state on a volume",
        ),
    ],
)
def test_every_object_is_taken(kubernetes: Cluster, space: str, changes: dict[str, Any], settings: RaySettings) -> None:
    for made in everything(cluster(changes | {"metadata.namespace": space}), settings):
        path = BY_NAME[made["apiVersion"], made["kind"]].path(space)
        taken = kubernetes.request("POST", f"{path}?dryRun=All&fieldValidation=Strict", made)
        assert taken["metadata"]["name"] == made["metadata"]["name"]
        assert taken["metadata"].get("generateName") == made["metadata"].get("generateName")
