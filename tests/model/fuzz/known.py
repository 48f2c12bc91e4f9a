"""What is fuzzed: a small manifest of each kind, and changes that a rule of its own is about."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

from tests.examples import kinds, manifests
from tests.examples.example import Example, Json, merged
from tests.model.fuzz import pods
from tests.model.services import ONE, TWO

Change = Callable[[Json], None]
Plan = tuple[str, Change]

# Whoever has been suspended is resumed by `suspend: false` and not by leaving it out.
CLUSTER: Json = {**manifests.CLUSTER, "suspend": False}
JOB: Json = {
    "entrypoint": "sleep 4",
    "submissionMode": "HTTPMode",
    "rayClusterSpec": {**manifests.CLUSTER, "workerGroupSpecs": []},
    "suspend": False,
}
SERVICE: Json = {"serveConfigV2": ONE, "rayClusterConfig": manifests.CLUSTER, "suspend": False}
CRON_JOB: Json = {"schedule": "*/30 * * * *", "jobTemplate": JOB, "suspend": False}
SPECS = {"RayCluster": CLUSTER, "RayJob": JOB, "RayService": SERVICE, "RayCronJob": CRON_JOB}
NO_DURATION = "never"
SOON = "*/2 * * * *"
STEPWISE = {"gatewayClassName": "some", "stepSizePercent": 50, "intervalSeconds": 2, "maxSurgePercent": 100}


def plain(kind: str, *, soon: bool = False) -> Json:
    """A manifest that can be served; a schedule fires now and then, or soon."""
    found = {"metadata": {"name": "a"}, "spec": copy.deepcopy(SPECS[kind])}
    if kind == "RayCronJob" and soon:
        found["spec"]["schedule"] = SOON
    return found


def _lay(says: str, patch: Json) -> Plan:
    """Lay a patch over the spec; what it names as None is taken out."""

    def change(manifest: Json) -> None:
        manifest["spec"] = _without_none(merged(manifest["spec"], patch))

    return says, change


def _all(*patches: tuple[str, Json]) -> list[Plan]:
    return [_lay(says, patch) for says, patch in patches]


def _note(where: str, name: str, text: str) -> Plan:
    """An annotation or a label."""

    def change(manifest: Json) -> None:
        manifest["metadata"][where] = {**manifest["metadata"].get(where, {}), name: text}

    return f"metadata.{where}[{name}] = {text!r}", change


def _without_none(spec: Any) -> Any:
    if not isinstance(spec, dict):
        return spec
    return {name: _without_none(each) for name, each in spec.items() if each is not None}


def _examples(examples: Iterable[Example], plain_spec: Json) -> list[Plan]:
    """The examples of all rules, kept and broken."""
    return [
        plan
        for example in examples
        for says, whole in (("kept", example.good), ("broken", example.bad))
        for plan in [_example(f"{example.says} ({says})", whole, plain_spec)]
    ]


def _example(says: str, whole: Json, plain_spec: Json) -> Plan:
    spec = {**plain_spec, **whole["spec"]}
    if spec.get("entrypoint") == manifests.ENTRYPOINT:
        spec["entrypoint"] = plain_spec["entrypoint"]
    about = {name: each for name, each in whole["metadata"].items() if name != "name"}

    def change(manifest: Json) -> None:
        manifest["spec"] = copy.deepcopy(spec)
        manifest["metadata"] |= copy.deepcopy(about)

    return says, change


def _group(**fields: Any) -> Json:
    return manifests.worker(**fields)


SUSPENSION = [_lay(f"suspend = {wish}", {"suspend": wish}) for wish in (True, False)]
SIZES = [
    _lay(f"worker group: {fields}", _group(**fields))
    for fields in (
        {"replicas": 3},
        {"replicas": 0},
        {"replicas": -1},
        {"replicas": 4, "maxReplicas": 2},
        {"replicas": 1, "minReplicas": 2},
        {"minReplicas": 3, "maxReplicas": 1},
        {"minReplicas": -2, "maxReplicas": -1},
        {"numOfHosts": 2},
        {"numOfHosts": 0},
        {"numOfHosts": -1},
        {"suspend": True},
        {"scaleStrategy": {"workersToDelete": ["", "a", "a-small-worker-00000"]}},
        {"groupName": ""},
        {"groupName": "A_b"},
        {"groupName": "g" * 70},
        {"rayStartParams": {"num-cpus": "many", "block": "no"}},
        {"rayStartParams": {"resources": "{'a': 1}"}},
        {"resources": {"CPU": "-1"}},
        {"labels": {"a": "b" * 70}},
    )
]
OPTIONS = _all(
    ("two groups", manifests.workers({}, {"groupName": "other", "replicas": 2})),
    ("two groups of one name", manifests.workers({}, {})),
    ("no groups", {"workerGroupSpecs": []}),
    ("autoscaling", {"enableInTreeAutoscaling": True}),
    ("autoscaling with v2", {"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v2"}}),
    ("Redis", {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}),
    ("Redis without an address", {"gcsFaultToleranceOptions": {}}),
    ("no fault tolerance", {"gcsFaultToleranceOptions": None}),
    ("tokens", {"authOptions": {"mode": "token"}}),
    ("tokens from a secret", {"authOptions": {"mode": "token", "secretName": "mine"}}),
    ("recreation", {"upgradeStrategy": {"type": "Recreate"}}),
    ("an ingress", manifests.head(enableIngress=True)),
    ("a NodePort", manifests.head(serviceType="NodePort")),
    ("a Service type that is none", manifests.head(serviceType="Magic")),
    ("another Ray", {"rayVersion": "2.57.0"}),
    ("a Ray that is none", {"rayVersion": "latest"}),
    ("no Ray version", {"rayVersion": None}),
    ("another image", manifests.head_container(image="rayproject/ray:2.57.0")),
    ("no image", manifests.head_container(image="")),
    ("a container's name twice", manifests.head_pod(containers=[manifests.HEAD, manifests.HEAD])),
    ("a mount without a volume", manifests.head_container(**manifests.mount("a", "/a"))),
    ("a worker's mount without a volume", manifests.worker_container(**manifests.mount("a", "/a"))),
    ("a head that restarts", manifests.head_pod(restartPolicy="Always")),
    ("a restart policy that is none", manifests.head_pod(restartPolicy="Sometimes")),
    ("resources", manifests.head_container(resources={"limits": {"cpu": "1", "memory": "1Gi"}})),
    ("a quantity that is none", manifests.head_container(resources={"limits": {"cpu": "1.5Q"}})),
    ("much", manifests.head_container(resources={"limits": {"memory": "9999999999999E"}})),
    ("a head Service of one's own", manifests.head(headService={"metadata": {"name": "mine"}})),
    ("a Service with an odd port", manifests.head(headService={"spec": {"ports": [{"name": "x", "port": 0}]}})),
    ("a network policy", {"networkPolicy": {"mode": "DenyAll"}}),
    ("TLS", {"tlsOptions": {"enabled": True}}),
)
NOTES = [
    _note(*each)
    for each in (
        ("annotations", "ray.io/ft-enabled", "true"),
        ("annotations", "ray.io/ft-enabled", "perhaps"),
        ("annotations", "ray.io/external-storage-namespace", "mine"),
        ("annotations", "ray.io/gcs-ft-deletion-timeout", "soon"),
        ("annotations", "ray.io/gcs-ft-deletion-timeout", str(2**62)),
        ("annotations", "ray.io/overwrite-container-cmd", "true"),
        ("annotations", "ray.io/disable-provisioned-head-restart", "true"),
        ("annotations", "ray.io/initializing-timeout", "5m"),
        ("annotations", "ray.io/initializing-timeout", "-1s"),
        ("annotations", "ray.io/initializing-timeout", str(2**62)),
        ("annotations", "ray.io/upgrade-timeout", NO_DURATION),
        ("annotations", "ray.io/upgrade-strategy-recreate-hash", "abc"),
        ("annotations", "a" * 63, "x" * 3000),
        ("labels", "ray.io/scheduler-name", "volcano"),
        ("labels", "ray.io/cluster", "other"),
        ("labels", "ray.io/originated-from-crd", "RayJob"),
        ("labels", "ray.io/priority-class-name", "high"),
    )
]
RULES: list[tuple[str, Json]] = [
    ("two ways of deletion", {"onSuccess": {"policy": "DeleteSelf"}, "deletionRules": []}),
    ("half a way of deletion", {"onSuccess": {"policy": "DeleteCluster"}}),
    ("deletion", {"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteNone"}}),
    ("no rules of deletion", {"deletionRules": []}),
]
JOBS = _all(
    *[(says, {"deletionStrategy": strategy}) for says, strategy in RULES],
    *[
        (
            f"rule {policy} after {seconds}",
            {
                "deletionStrategy": {
                    "deletionRules": [
                        {"policy": policy, "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": seconds}}
                    ]
                }
            },
        )
        for policy in ("DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone", "DeleteAll")
        for seconds in (-1, 0, 20)
    ],
    *[
        (f"mode {mode}", {"submissionMode": mode})
        for mode in ("K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode", "Magic", "")
    ],
    *[(f"backoff limit {limit}", {"backoffLimit": limit}) for limit in (-1, 0, 1, 2)],
    *[(f"ttl {ttl}", {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": ttl}) for ttl in (-1, 0, 30)],
    ("it shuts down", {"shutdownAfterJobFinishes": True}),
    ("suspended", {"suspend": True, "shutdownAfterJobFinishes": True}),
    *[(f"deadline {limit}", {"activeDeadlineSeconds": limit}) for limit in (-1, 0, 1, 10)],
    *[(f"early deadline {limit}", {"preRunningDeadlineSeconds": limit}) for limit in (0, 1, 60)],
    *[
        (f"entrypoint {text!r}", {"entrypoint": text})
        for text in ("", "exit 1", "sleep 100000", "sleep 30; exit 1", "echo 'a\nb' \"c\" $d")
    ],
    *[
        (f"runtime env {text!r}", {"runtimeEnvYAML": text})
        for text in ("pip: [a]", "[", "a", "1: 2", "a: &x 1\nb: *y", "working_dir: 1")
    ],
    ("a selector", {"clusterSelector": {"ray.io/cluster": "none"}, "rayClusterSpec": None}),
    ("a selector beside a cluster", {"clusterSelector": {"ray.io/cluster": "none"}}),
    ("a selector of something else", {"clusterSelector": {"a": "b"}, "rayClusterSpec": None}),
    ("no cluster", {"rayClusterSpec": None}),
    ("a job id", {"jobId": "mine"}),
    ("a job id with spaces", {"jobId": "m i n e"}),
    ("resources of the entrypoint", {"entrypointNumCpus": 0.5, "entrypointResources": "{'a': 1}"}),
    ("bad resources of the entrypoint", {"entrypointNumCpus": -1, "entrypointResources": "a"}),
    ("metadata", {"metadata": {"a": "b", "": "c"}}),
    ("a submitter", {"submissionMode": "K8sJobMode", "submitterConfig": {"backoffLimit": -1}}),
    (
        "a submitter's template",
        {
            "submissionMode": "K8sJobMode",
            "submitterPodTemplate": {"spec": {"containers": [{"name": "a", "image": "a"}], "restartPolicy": "Never"}},
        },
    ),
    (
        "an empty submitter's template",
        {"submissionMode": "K8sJobMode", "submitterPodTemplate": {"spec": {"containers": []}}},
    ),
)
SERVICES = _all(
    *[
        (f"upgrade {kind}", {"upgradeStrategy": {"type": kind}})
        for kind in ("NewCluster", "None", "NewClusterWithIncrementalUpgrade", "Magic", "")
    ],
    *[
        (
            f"step by step {odd}",
            {
                "upgradeStrategy": {
                    "type": "NewClusterWithIncrementalUpgrade",
                    "clusterUpgradeOptions": STEPWISE | odd,
                },
                "rayClusterConfig": {"enableInTreeAutoscaling": True},
            },
        )
        for odd in (
            {},
            {"stepSizePercent": 0},
            {"stepSizePercent": 101},
            {"intervalSeconds": 0},
            {"intervalSeconds": -1},
            {"maxSurgePercent": 0},
            {"maxSurgePercent": -1},
            {"gatewayClassName": ""},
        )
    ],
    *[
        (f"serve config {text[:20]!r}", {"serveConfigV2": text})
        for text in (
            ONE,
            TWO,
            "",
            "[",
            "a",
            "applications: 1",
            "applications: [1]",
            "applications: []",
            "a: *b",
            f"{ONE}{ONE.partition(chr(10))[2]}",
        )
    ],
    *[(f"deletion delay {seconds}", {"rayClusterDeletionDelaySeconds": seconds}) for seconds in (-1, 0, 5)],
    ("the head does not serve", {"excludeHeadPodFromServeSvc": True}),
    ("a serve Service of one's own", {"serveService": {"metadata": {"name": "mine"}}}),
    ("a serve Service with an odd type", {"serveService": {"spec": {"type": "Magic"}}}),
    ("a serve Service without ports", {"serveService": {"spec": {"ports": []}}}),
    ("another cluster", {"rayClusterConfig": {"rayVersion": "2.57.0"}}),
    ("thresholds", {"serviceUnhealthySecondThreshold": -1, "deploymentUnhealthySecondThreshold": 0}),
)
CRONS = _all(
    *[
        (f"schedule {text!r}", {"schedule": text})
        for text in (
            "0 3 * * *",
            "@hourly",
            "@every 31m",
            "",
            "* * *",
            "61 * * * *",
            "0 0 30 2 *",
            "TZ=UTC 0 0 * * *",
            "*/0 * * * *",
            "5-1 * * * *",
            "? 3 * * *",
            "0 3 * * 7",
            "@reboot",
            "@every 1x",
        )
    ],
    *[
        (f"zone {text!r}", {"timeZone": text})
        for text in ("UTC", "Europe/Berlin", "Local", "Atlantis", "", "../etc", "America", "A\x00b")
    ],
    *[(f"policy {text}", {"concurrencyPolicy": text}) for text in ("Allow", "Forbid", "Replace", "Magic")],
    *[
        (f"history {number}", {"successfulJobsHistoryLimit": number, "failedJobsHistoryLimit": number})
        for number in (-1, 0, 1)
    ],
    *[(f"starting deadline {number}", {"startingDeadlineSeconds": number}) for number in (-1, 0, 100, 2**62)],
)


def _below(field: str, plans: Iterable[Plan]) -> list[Plan]:
    """Changes of a spec that stands within another."""
    return [(f"{field}: {says}", _within(field, change)) for says, change in plans]


def _within(field: str, change: Change) -> Change:
    def changed(manifest: Json) -> None:
        inner = manifest["spec"].get(field)
        if isinstance(inner, dict):
            whole = {"metadata": {}, "spec": inner}
            change(whole)
            manifest["spec"][field] = whole["spec"]

    return changed


PARTS = [*SIZES, *OPTIONS, *_all(*pods.patches())]
PLANS: dict[str, list[Plan]] = {
    "RayCluster": [*SUSPENSION, *PARTS, *NOTES],
    "RayJob": [*SUSPENSION, *JOBS, *NOTES],
    "RayService": [*SUSPENSION, *SERVICES, *NOTES],
    "RayCronJob": [*SUSPENSION, *CRONS],
}
GROUPS: dict[str, list[Plan]] = {
    "RayCluster": _examples(kinds.CLUSTERS, CLUSTER),
    "RayJob": [*_below("rayClusterSpec", PARTS), *_examples(kinds.JOBS, JOB)],
    "RayService": [*_below("rayClusterConfig", PARTS), *_examples(kinds.SERVICES, SERVICE)],
    "RayCronJob": [*_below("jobTemplate", JOBS), *_examples(kinds.CRON_JOBS, CRON_JOB)],
}
