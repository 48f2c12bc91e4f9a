"""The chart: rendered for many values, and what the API server, its Pod Security and helm say of that."""

import functools
import json

import pytest

from manta_common.telemetry import names as telemetry
from tests.parts.chart import CHART, Json, helm, rendered
from tests.parts.cluster import ApiError, Cluster
from tests.parts.process import wait_until

LIMIT_SECONDS = 30
VALUES = {
    "as it comes": [],
    "one namespace": ["--set", "singleNamespaceInstall=true"],
    "some namespaces": ["--set", "watchNamespace={one,two}"],
    "three NATS servers that keep their data": ["--set", "nats.replicas=3,nats.storage.persistent=true"],
    "another NATS": [
        "--set", "nats.bundled=false,nats.external.urls={nats://nats.other:4222}",
        "--set", "nats.external.credentialsSecret=users,nats.external.caSecret=ca",
    ],
    "autoscaling": [
        "--set", "defaults.autoscaling.enabled=true,services.watcher.autoscaling.enabled=false",
        "--set", "defaults.autoscaling.targetQueueDepth=50,defaults.topologySpread=false,networkPolicy.enabled=false",
    ],
    "KubeRay's values": [
        "--set", "batchScheduler.name=volcano,useKubernetesProxy=true,redisCleanupBy=janitor,kubeClient.qps=50",
        "--set", "featureGates[0].name=RayCronJob,featureGates[0].enabled=true,logging.stdoutEncoder=console",
        "--set", "featureGates[1].name=RayClusterMTLS,featureGates[1].enabled=true,tolerations[0].key=ray",
        "--set", "podSecurityContext.fsGroup=65532,podSecurityContext.seccompProfile.type=RuntimeDefault",
        "--set", "configuration.enabled=true,configuration.defaultPodLabels.team=a",
        "--set", "priorityClassName=system-cluster-critical",
        "--set-string", "env[0].name=ENABLE_PROBES_INJECTION,env[0].value=false",
        "--set", "configuration.headSidecarContainers[0].name=side,configuration.headSidecarContainers[0].image=x",
    ],
    "dashboards and policies": [
        "--set", "metrics.dashboards.enabled=true,admissionPolicies=true,crds.upgrade=false",
        "--set", "serviceAccount.create=false,rbacEnable=false,tracing.endpoint=http://tempo:4318",
    ],
}  # fmt: skip


@pytest.mark.parametrize("flags", VALUES.values(), ids=VALUES)
def test_the_api_server_accepts_what_is_rendered(kubernetes: Cluster, ray_crds: None, flags: list[str]) -> None:
    objects = rendered(*flags)
    assert {"Deployment", "ConfigMap"} <= {one["kind"] for one in objects}
    with kubernetes.fresh_namespace("chart") as namespace:
        for one in objects:
            one["metadata"].pop("namespace", None)
        whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        kubernetes.kubectl("create", "--dry-run=server", "--validate=strict", "-n", namespace, "-f", "-", stdin=whole)


@pytest.mark.parametrize(
    ("flag", "complaint"),
    [
        ("nats.replicas=2", "nats.replicas"),
        ("nats.bundled=false", "nats.external.urls"),
        ("services.gardener.replicas=1", "gardener"),
        ("partitions=many", "partitions"),
        ("logging.stdoutEncoder=xml", "stdoutEncoder"),
        ("imge.repository=x", "imge"),
    ],
)
def test_values_that_cannot_be_are_named(flag: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        rendered("--set", flag)


def test_the_chart_has_no_faults() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART))


def test_no_role_has_a_wildcard() -> None:
    roles = [one for one in rendered() if one["kind"] in ("ClusterRole", "Role")]
    assert roles
    assert not [role["metadata"]["name"] for role in roles if "*" in str(role["rules"])]


def test_whoever_is_given_rights_in_namespaces_has_none_elsewhere() -> None:
    kinds = {one["kind"] for one in rendered("--set", "watchNamespace={one,two},crds.upgrade=false")}
    assert "Role" in kinds
    assert not kinds & {"ClusterRole", "ClusterRoleBinding"}


@pytest.mark.parametrize("flags", [[], VALUES["another NATS"]], ids=["as it comes", "another NATS"])
def test_pod_security_takes_every_pod_where_it_is_strictest(kubernetes: Cluster, flags: list[str]) -> None:
    pods = _pods(rendered(*flags))
    assert len(pods) >= 8
    with kubernetes.fresh_namespace("restricted") as namespace:
        label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
        kubernetes.request("PATCH", f"api/v1/namespaces/{namespace}", label, "application/merge-patch+json")
        place = f"api/v1/namespaces/{namespace}/pods?dryRun=All&fieldValidation=Strict"
        careless = _pod("careless", {"containers": [{"name": "x", "image": "x"}]})
        refused = functools.partial(_violates_pod_security, kubernetes, place, careless)
        wait_until("careless pods are refused", refused, limit_seconds=LIMIT_SECONDS)
        for pod in pods:
            kubernetes.request("POST", place, pod)


def test_containers_can_write_to_nothing_but_their_own_folders() -> None:
    containers = [one for pod in _pods(rendered()) for one in pod["spec"]["containers"]]
    assert all(one["securityContext"]["readOnlyRootFilesystem"] for one in containers)
    assert all(one["securityContext"]["capabilities"] == {"drop": ["ALL"]} for one in containers)


def test_only_whoever_talks_to_the_api_server_has_a_token() -> None:
    spared = {
        pod["metadata"]["name"] for pod in _pods(rendered()) if pod["spec"].get("automountServiceAccountToken") is False
    }
    assert spared == {"manta-nats"}


def test_a_feature_that_is_off_has_no_rights() -> None:
    off = "featureGates[0].name=AllBeta,featureGates[0].enabled=false"
    only_cron = "featureGates[0].name=RayCronJob,featureGates[0].enabled=true"
    assert not {"gateways", "httproutes", "raycronjobs/status"} & _resources(rendered("--set", off))
    assert {"gateways", "httproutes", "raycronjobs/status"} <= _resources(rendered("--set", only_cron))


def test_monitors_find_what_they_are_to_watch() -> None:
    flags = ["serviceMonitor", "podMonitor", "rules"]
    objects = rendered(*(part for name in flags for part in ("--set", f"metrics.{name}.enabled=true")))
    kinds = {one["kind"]: one for one in objects}
    assert {"ServiceMonitor", "PodMonitor", "PrometheusRule"} <= set(kinds)
    watched = kinds["ServiceMonitor"]["spec"]["selector"]["matchLabels"].items()
    services = [one for one in objects if one["kind"] == "Service" and watched <= one["metadata"]["labels"].items()]
    assert [one["metadata"]["name"] for one in services] == ["manta"]
    deployments = [one["spec"]["template"] for one in objects if one["kind"] == "Deployment"]
    for selector in (kinds["PodMonitor"]["spec"]["selector"]["matchLabels"], services[0]["spec"]["selector"]):
        assert all(selector.items() <= pod["metadata"]["labels"].items() for pod in deployments)


def test_replicas_are_added_by_their_queues() -> None:
    flags = "defaults.autoscaling.enabled=true,defaults.autoscaling.targetQueueDepth=50"
    scalers = [one for one in rendered("--set", flags) if one["kind"] == "HorizontalPodAutoscaler"]
    assert len(scalers) == 6
    for scaler in scalers:
        named = [one["pods"]["metric"]["name"] for one in scaler["spec"]["metrics"] if one["type"] == "Pods"]
        assert named == [telemetry.QUEUE_DEPTH.name]


def _pods(objects: list[Json]) -> list[Json]:
    """The pods that a release would have, its hooks included."""
    bare = [one for one in objects if one["kind"] == "Pod"]
    made = [
        _pod(one["metadata"]["name"], one["spec"]["template"]["spec"])
        for one in objects
        if one["kind"] in ("Deployment", "StatefulSet", "Job")
    ]
    return made + [_pod(one["metadata"]["name"], one["spec"]) for one in bare]


def _violates_pod_security(kubernetes: Cluster, place: str, pod: Json) -> bool:
    """Whether a pod is refused; the server learns of the label of a namespace a moment later."""
    try:
        kubernetes.request("POST", place, pod)
    except ApiError as error:
        assert "violates PodSecurity" in str(error)  # noqa: PT017  no other refusal counts
        return True
    return False


def _pod(name: str, spec: Json) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _resources(objects: list[Json]) -> set[str]:
    """Everything that services have a right to."""
    roles = [one for one in objects if one["kind"] == "ClusterRole" and one["metadata"]["name"].startswith("manta-")]
    return {name for role in roles for rule in role["rules"] for name in rule["resources"]}
