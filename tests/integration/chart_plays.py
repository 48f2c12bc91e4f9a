"""What users do, so that every right of every service is needed: clusters, jobs, schedules, services, and their end."""

from collections.abc import Callable
from typing import Any

from tests.examples import manifests
from tests.examples.example import Json
from tests.integration.clusters import Clusters
from tests.integration.job_world import CLUSTER, NOWHERE, Jobs
from tests.integration.service_world import Services

# Under which conditions rights count with the values of the release.
PLAYED = ("always", "cron", "incrementalUpgrade", "networkPolicy", "embeddedStorage")
LASTS = "sleep 100000"
MERGE = "application/merge-patch+json"
HEAD_RULES = {"head": {"ingressRules": [{"ports": [{"port": 8265}]}]}}
ROADS = {"stepSizePercent": 10, "intervalSeconds": 1, "gatewayClassName": "one"}
Restart = Callable[[Callable[[], None]], None]  # does something while nobody looks


def play_clusters(clusters: Clusters) -> None:
    """A cluster with everything that it can have of Kubernetes' own kinds, changed, and then gone."""
    spec = {
        "enableInTreeAutoscaling": True,
        "authOptions": {"mode": "token"},
        "headGroupSpec": {"enableIngress": True},
        "networkPolicy": {},
    }
    clusters.create("whole", spec)
    clusters.until_ready("whole", 1)
    clusters.until("it has an ingress", lambda: bool(clusters.all("ingresses")))
    clusters.change("whole", {"enableInTreeAutoscaling": False, "networkPolicy": HEAD_RULES})
    clusters.resize("whole", replicas=0)
    clusters.until_ready("whole", 0)
    clusters.until("its head may be reached", lambda: "8265" in str(_policies(clusters)))
    clusters.change("whole", {"networkPolicy": None})
    clusters.until("it has no policies", lambda: not _policies(clusters))
    path = f"apis/ray.io/v1/namespaces/{clusters.namespace}/rayclusters/whole"
    note = {"metadata": {"annotations": {"example.com/for": "the ingress"}}}
    clusters.api.request("PATCH", path, note, MERGE)
    clusters.until("its ingress has the annotation", lambda: "the ingress" in str(clusters.all("ingresses")))
    clusters.delete("rayclusters", "whole")
    clusters.until("it is gone", lambda: not clusters.pods("whole"))


def play_storage(clusters: Clusters) -> None:
    """A cluster that keeps its state on a claim of its own, which is then to be retained."""
    clusters.create("stored", {"gcsFaultToleranceOptions": _stored("DeleteWithCluster")})
    clusters.until("its claim is its own", lambda: _owners(clusters) == 1)
    clusters.change("stored", {"gcsFaultToleranceOptions": _stored("Retain")})
    clusters.until("its claim is nobody's", lambda: _owners(clusters) == 0)
    clusters.delete("rayclusters", "stored")
    clusters.until("it is gone", lambda: clusters.find("rayclusters", "stored") is None)


def play_clean_up(clusters: Clusters) -> None:
    """A cluster that keeps its state in Redis, and is deleted."""
    clusters.create("durable", {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}})
    clusters.until_ready("durable", 1)
    clusters.delete("rayclusters", "durable")
    clusters.until("it is gone", lambda: clusters.find("rayclusters", "durable") is None)


def play_jobs(jobs: Jobs, restart: Restart) -> None:
    """Jobs that are tried again, suspended and resumed, with a token, and cleaned up by rules."""
    jobs.make("twice", entrypoint="exit 3", backoffLimit=1)
    jobs.make("paused", mode="K8sJobMode", submitterPodTemplate=NOWHERE, shutdownAfterJobFinishes=True)
    rules = [_rule("DeleteWorkers", 0), _rule("DeleteCluster", 6)]
    cluster = CLUSTER | {"workerGroupSpecs": [manifests.GROUP]}
    jobs.make("tidy", deletionStrategy={"deletionRules": rules}, rayClusterSpec=cluster)
    jobs.make("gone", deletionStrategy={"deletionRules": [_rule("DeleteSelf", 0)]})
    jobs.make("secret", rayClusterSpec=CLUSTER | {"rayVersion": "2.56.0", "authOptions": {"mode": "token"}})
    jobs.reach("twice", "Failed")
    jobs.reach("secret", "Complete")
    jobs.until("there is a submitter", lambda: jobs.pods("job-name=paused"))
    restart(lambda: jobs.change("paused", suspend=True))
    jobs.reach("paused", "Suspended")
    jobs.change("paused", suspend=False)
    jobs.reach("paused", "Running")
    jobs.until("a job is gone with all that was its", lambda: jobs.find("rayjobs", "gone") is None)
    tidied = jobs.reach("tidy", "Complete")["rayClusterName"]
    jobs.until("a cluster is gone", lambda: jobs.find("rayclusters", tidied) is None)


def play_schedule(jobs: Jobs) -> None:
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


def play_services(services: Services, restart: Restart) -> None:
    """A service that gets another cluster, a larger one, is suspended, resumed, and then gone."""
    services.make("serving", rayClusterDeletionDelaySeconds=0)
    services.until("it serves", lambda: services.holds("serving", "Ready"))
    before = services.active("serving")
    restart(lambda: services.upgrade("serving", "2.57.0"))
    services.until("another cluster serves", lambda: services.active("serving") not in ("", before))
    services.until("the old one is gone", lambda: services.find("rayclusters", before) is None)
    services.change("serving", rayClusterConfig={"workerGroupSpecs": [manifests.GROUP]})
    services.until("its cluster is larger", lambda: _groups(services, "serving") == 1)
    services.change("serving", suspend=True)
    services.until("it is suspended", lambda: services.holds("serving", "Suspended"))
    services.change("serving", suspend=False)
    services.until("it serves again", lambda: services.holds("serving", "Ready"))
    services.delete("serving")
    services.until("it is gone", lambda: services.find("rayservices", "serving") is None)


def play_roads(services: Services) -> None:
    """A service whose traffic moves step by step, by a Gateway that the test takes up in its controller's place."""
    strategy = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": ROADS}
    scaled = manifests.CLUSTER | {"enableInTreeAutoscaling": True, "workerGroupSpecs": []}
    services.make("stepping", rayClusterConfig=scaled, upgradeStrategy=strategy, rayClusterDeletionDelaySeconds=0)
    services.until("it has a Gateway", lambda: services.find("gateways", "stepping-gateway"))
    services.until("it has a route", lambda: len(services.weights("stepping")) == 1)
    services.upgrade("stepping", "2.57.0")
    services.until("its route knows both clusters", lambda: len(services.weights("stepping")) == 2)
    services.change("stepping", upgradeStrategy={"clusterUpgradeOptions": {"gatewayClassName": "other"}})
    services.until("its Gateway is of another class", lambda: _class(services, "stepping") == "other")
    services.change("stepping", suspend=True)
    services.until("it has no route", lambda: services.find("httproutes", "stepping-httproute") is None)
    services.until("it has no Gateway", lambda: services.find("gateways", "stepping-gateway") is None)
    services.delete("stepping")
    services.until("it is gone", lambda: services.find("rayservices", "stepping") is None)


def _policies(clusters: Clusters) -> list[Json]:
    path = (
        f"apis/networking.k8s.io/v1/namespaces/{clusters.namespace}/networkpolicies?labelSelector=ray.io/cluster=whole"
    )
    found: list[Json] = clusters.api.request("GET", path)["items"]
    return found


def _stored(policy: str) -> Json:
    return {"backend": "rocksdb", "storage": {"size": "1Gi", "deletionPolicy": policy}}


def _owners(clusters: Clusters) -> int | None:
    """How many owners the claim of the cluster has; None while there is no claim."""
    found = clusters.all("persistentvolumeclaims")
    return len(found[0]["metadata"].get("ownerReferences", ())) if found else None


def _first_name(jobs: Jobs, listing: str) -> str:
    """The name of the first object of a list, once there is one."""
    found: list[str] = []

    def look() -> bool:
        found.extend(one["metadata"]["name"] for one in jobs.plane.request("GET", listing)["items"])
        return bool(found)

    jobs.until("there is a first one", look)
    return found[0]


def _rule(policy: str, seconds: int) -> Json:
    return {"policy": policy, "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": seconds}}


def _groups(services: Services, name: str) -> int:
    cluster: dict[str, Any] = services.find("rayclusters", services.active(name)) or {"spec": {}}
    return len(cluster["spec"].get("workerGroupSpecs") or ())


def _class(services: Services, name: str) -> str:
    gateway = services.find("gateways", f"{name}-gateway")
    return str(gateway["spec"]["gatewayClassName"]) if gateway else ""
