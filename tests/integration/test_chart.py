"""The chart: rendered for many values, installed, and its services at work with the rights it gives them, no others."""

import asyncio
import contextlib
import json
import pathlib
from collections.abc import AsyncIterator, Callable, Iterator

import nats
import pytest
from nats.aio.client import Client

from manta_cli.rights import all_rights
from manta_common.bus.settings import client_name, inbox_prefix
from tests.examples import manifests
from tests.examples.example import Json
from tests.integration.clusters import Clusters
from tests.integration.job_world import CLUSTER, NOWHERE, Jobs
from tests.parts import audit
from tests.parts.chart import CHART, Installed, helm, rendered
from tests.parts.cluster import Cluster
from tests.parts.control_plane import ControlPlane
from tests.parts.stub_dashboard import StubDashboard

LIMIT_SECONDS = 20
LASTS = "sleep 100000"
MERGE = "application/merge-patch+json"
GROUP = [manifests.GROUP]
PLAYED = ("watcher", "cluster-reconciler", "job-reconciler", "dashboard-gateway", "janitor")
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
        "--set", "defaults.topologySpread=false,networkPolicy.enabled=false",
    ],
    "KubeRay's values": [
        "--set", "batchScheduler.name=volcano,useKubernetesProxy=true,redisCleanupBy=janitor,kubeClient.qps=50",
        "--set", "featureGates[0].name=RayCronJob,featureGates[0].enabled=true,logging.stdoutEncoder=console",
        "--set", "featureGates[1].name=RayClusterMTLS,featureGates[1].enabled=true",
        "--set", "configuration.enabled=true,configuration.defaultPodLabels.team=a,priorityClassName=high",
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


@pytest.fixture(scope="module")
def release(
    control_plane: ControlPlane, ray_crds: None, stub: StubDashboard, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    folder: pathlib.Path = tmp_path_factory.mktemp("chart")
    with control_plane.fresh_namespace("chart") as namespace:
        values = ["singleNamespaceInstall=true", "featureGates[0].name=RayCronJob,featureGates[0].enabled=true"]
        installed = Installed(control_plane, namespace, folder, values)
        settings = {
            "MANTA_DASHBOARD_GATEWAY_REACH": stub.dashboard_url.removeprefix("http://"),
            "MANTA_JOB_RECONCILER_DELAY_RETRIES": "false",
        }
        try:
            installed.start(settings)
            yield installed
        finally:
            installed.stop()


def test_the_services_need_every_right_they_have_and_no_other(release: Installed) -> None:
    clusters, jobs = Clusters(release.plane, release.namespace), Jobs(release.plane, release.namespace)
    _play_clusters(clusters)
    _play_jobs(jobs, release.restart)
    _play_schedule(jobs)
    _play_clean_up(clusters)
    accounts = {rights.service: f"{release.fullname}-{rights.service}" for rights in all_rights()}
    log = release.plane.audit_log
    refused = [
        f"{service}: {use}"
        for service, name in accounts.items()
        for use in sorted(audit.forbidden(log, release.namespace, name))
    ]
    assert refused == []
    idle = [f"{service}: {use}" for service in PLAYED for use in sorted(_never_used(release, service))]
    assert idle == []


@pytest.mark.parametrize(
    ("service", "subject"),
    [
        ("watcher", "manta.v1.state.0.jobinfo.default.job"),
        ("dashboard-gateway", "manta.v1.state.0.raycluster.default.one"),
        ("janitor", "manta.v1.state.0.raycluster.default.one"),
        ("janitor", "manta.v1.call.dashboard.submit"),
        ("janitor", "$KV.manta_members.watcher.somebody"),
        ("job-reconciler", "$JS.API.STREAM.DELETE.MANTA_STATE"),
        ("job-reconciler", "$JS.API.STREAM.PURGE.MANTA_STATE"),
    ],
)
async def test_nats_lets_nobody_say_what_is_not_theirs(release: Installed, service: str, subject: str) -> None:
    async with _client(release, service) as (client, complaint):
        await client.publish(subject, b"")
        said = await asyncio.wait_for(complaint, LIMIT_SECONDS)
    assert f'permissions violation for publish to "{subject}"'.lower() in said.lower()


async def test_nats_lets_nobody_hear_what_others_are_answered(release: Installed) -> None:
    async with _client(release, "janitor") as (client, complaint):
        await client.subscribe(f"{inbox_prefix(client_name('watcher'))}.>")
        said = await asyncio.wait_for(complaint, LIMIT_SECONDS)
    assert "permissions violation for subscription" in said.lower()


@contextlib.asynccontextmanager
async def _client(release: Installed, service: str) -> AsyncIterator[tuple[Client, asyncio.Future[str]]]:
    """A connection as a service, and what NATS has to complain of first."""
    complaint: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def heard(error: Exception) -> None:
        if not complaint.done():
            complaint.set_result(str(error))

    client = await nats.connect(release.nats_url(service), error_cb=heard)
    try:
        yield client, complaint
    finally:
        await client.close()


def _play_clusters(clusters: Clusters) -> None:
    """A cluster with everything that needs no gate, smaller and then gone."""
    spec = {
        "enableInTreeAutoscaling": True,
        "authOptions": {"mode": "token"},
        "headGroupSpec": {"enableIngress": True},
    }
    clusters.create("whole", spec)
    clusters.until_ready("whole", 1)
    clusters.until("it has an ingress", lambda: bool(clusters.all("ingresses")))
    clusters.change("whole", {"enableInTreeAutoscaling": False})
    clusters.resize("whole", replicas=0)
    clusters.until_ready("whole", 0)
    path = f"apis/ray.io/v1/namespaces/{clusters.namespace}/rayclusters/whole"
    note = {"metadata": {"annotations": {"example.com/for": "the ingress"}}}
    clusters.api.request("PATCH", path, note, MERGE)
    clusters.until("its ingress has the annotation", lambda: "the ingress" in str(clusters.all("ingresses")))
    clusters.delete("rayclusters", "whole")
    clusters.until("it is gone", lambda: not clusters.pods("whole"))


def _play_jobs(jobs: Jobs, restart: Callable[[], None]) -> None:
    """Jobs that are tried again, suspended and resumed, with a token, and cleaned up by rules."""
    jobs.make("twice", entrypoint="exit 3", backoffLimit=1)
    jobs.make("paused", mode="K8sJobMode", submitterPodTemplate=NOWHERE, shutdownAfterJobFinishes=True)
    rules = [_rule("DeleteWorkers", 0), _rule("DeleteCluster", 6)]
    cluster = CLUSTER | {"workerGroupSpecs": GROUP}
    jobs.make("tidy", deletionStrategy={"deletionRules": rules}, rayClusterSpec=cluster)
    jobs.make("gone", deletionStrategy={"deletionRules": [_rule("DeleteSelf", 0)]})
    jobs.make("secret", rayClusterSpec=CLUSTER | {"rayVersion": "2.56.0", "authOptions": {"mode": "token"}})
    jobs.reach("twice", "Failed")
    jobs.reach("secret", "Complete")
    jobs.until("there is a submitter", lambda: jobs.pods("job-name=paused"))
    restart()
    jobs.change("paused", suspend=True)
    jobs.reach("paused", "Suspended")
    jobs.change("paused", suspend=False)
    jobs.reach("paused", "Running")
    jobs.until("a job is gone with all that was its", lambda: jobs.find("rayjobs", "gone") is None)
    tidied = jobs.reach("tidy", "Complete")["rayClusterName"]
    jobs.until("a cluster is gone", lambda: jobs.find("rayclusters", tidied) is None)


def _play_schedule(jobs: Jobs) -> None:
    """A schedule whose jobs replace each other and are not kept."""
    template = {"submissionMode": "HTTPMode", "entrypoint": LASTS, "rayClusterSpec": CLUSTER}
    spec = {"schedule": "@every 1s", "jobTemplate": template, "concurrencyPolicy": "Replace"}
    jobs.create("raycronjobs", "often", spec)
    listing = f"{jobs.path('rayjobs')}?labelSelector=ray.io/cronjob-name=often"
    seen: set[str] = set()

    def replaced() -> bool:
        seen.update(one["metadata"]["name"] for one in jobs.plane.request("GET", listing)["items"])
        return len(seen) > 1

    jobs.until("one job has taken another's place", replaced)
    short = {"jobTemplate": template | {"entrypoint": "sleep 0"}, "successfulJobsHistoryLimit": 0}
    jobs.create("raycronjobs", "forgotten", spec | short | {"concurrencyPolicy": "Forbid"})
    old = f"{jobs.path('rayjobs')}?labelSelector=ray.io/cronjob-name=forgotten"
    first = _first_name(jobs, old)
    jobs.until("its first job has ended and is not kept", lambda: jobs.find("rayjobs", first) is None)
    jobs.plane.request("DELETE", jobs.path("raycronjobs", "forgotten"))
    jobs.plane.request("DELETE", jobs.path("raycronjobs", "often"))
    jobs.until("its jobs are gone", lambda: not jobs.plane.request("GET", listing)["items"])


def _first_name(jobs: Jobs, listing: str) -> str:
    """The name of the first object of a list, once there is one."""
    found: list[str] = []

    def look() -> bool:
        found.extend(one["metadata"]["name"] for one in jobs.plane.request("GET", listing)["items"])
        return bool(found)

    jobs.until("there is a first one", look)
    return found[0]


def _play_clean_up(clusters: Clusters) -> None:
    """A cluster that keeps its state in Redis, and is deleted."""
    clusters.create("durable", {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}})
    clusters.until_ready("durable", 1)
    clusters.delete("rayclusters", "durable")
    clusters.until("it is gone", lambda: clusters.find("rayclusters", "durable") is None)


def _rule(policy: str, seconds: int) -> Json:
    return {"policy": policy, "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": seconds}}


def _never_used(release: Installed, service: str) -> set[audit.Use]:
    """Rights that a service has with these values and did not use, though calls would show it."""
    (rights,) = (one for one in all_rights() if one.service == service)
    shown = [one for one in rights.kubernetes if one.when in ("always", "cron") and not one.why]
    granted = {(verb, one.kind.group, one.resource) for one in shown for verb in one.verbs}
    return granted - audit.used(release.plane.audit_log, release.namespace, f"{release.fullname}-{service}")
