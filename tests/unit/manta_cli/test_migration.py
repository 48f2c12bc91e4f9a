"""From a KubeRay operator to the values of Manta's chart, and what must come to its end first."""

import base64
import gzip
import json
import pathlib
from typing import Any

import msgspec
import pytest
import yaml

from manta_cli.failures import Failed
from manta_cli.migration import helm, inspect
from manta_cli.migration.flags import told
from manta_cli.migration.found import Definition, Deployment, Found, Operator, RayObject
from manta_cli.migration.gates import effective
from manta_cli.migration.plan import Plan, plan
from manta_cli.migration.values import notes, values
from manta_common.keys import Key
from manta_common.kinds import RAYJOB, RAYSERVICE
from manta_common.kube.protocol import MergePatch
from tests.examples import manifests
from tests.unit.manta_cli.place import USER, Place, played

ROOT = pathlib.Path(__file__).parents[3]
SELECTOR = "app.kubernetes.io/instance=kuberay-operator,app.kubernetes.io/name=kuberay-operator"
TIME = "2026-01-01T00:00:00Z"
IMAGE = "quay.io/kuberay/operator:v1.6.2"


def deployment(*args: str, name: str = "kuberay-operator", image: str = IMAGE, replicas: int = 1, **pod: Any) -> Any:
    container = {"name": "kuberay-operator", "image": image, "command": ["/manager"], "args": list(args)}
    container |= pod.pop("container", {})
    metadata = {"name": name, "namespace": "ray-system", **pod.pop("metadata", {})}
    labels = {"app.kubernetes.io/name": "kuberay-operator", "app.kubernetes.io/instance": name}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"spec": {"containers": [container], **pod}},
    }
    return msgspec.convert({"metadata": metadata, "spec": spec}, Deployment)


def operator(*args: str, file: Any = None, given: Any = None, **pod: Any) -> Operator:
    made = deployment(*args, **pod)
    container = made.spec.template["spec"]["containers"][0]
    return Operator(deployment=made, container=container, file=file or {}, values={} if given is None else given)


def ray(name: str = "one", **parts: Any) -> RayObject:
    metadata = {"name": name, "namespace": "team", **parts.pop("metadata", {})}
    return msgspec.convert({"metadata": metadata, **parts}, RayObject)


def planned(found: Found, chosen: Operator | None = None) -> Plan:
    return plan(found, chosen, namespace="manta-system", file="values.yaml")


def states(made: Plan) -> dict[str, str]:
    return {finding.check: finding.state for finding in made.findings}


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        pytest.param(["--qps=50", "-burst", "70"], {"qps": "50", "burst": "70"}, id="both ways to write a value"),
        pytest.param(["--enable-metrics", "--qps=1"], {"enable-metrics": "true", "qps": "1"}, id="a switch"),
        pytest.param(["--watch-namespace"], {"watch-namespace": ""}, id="a value that is missing"),
    ],
)
def test_flags_are_read_as_go_reads_them(words: list[str], flags: dict[str, str]) -> None:
    assert told(words, {}).flags == flags


def test_a_configuration_file_counts_more_than_flags_but_for_the_gates() -> None:
    words = ["--config", "/etc/kuberay/config.yaml", "--watch-namespace=a", "--feature-gates=RayCronJob=true"]
    found = told(words, {"watchNamespace": "b,c", "enableMetrics": True, "qps": 7.5})
    assert found.text("watch-namespace") == "b,c"
    assert found.text("feature-gates") == "RayCronJob=true"
    assert found.switched("enable-metrics")
    assert found.text("qps") == "7.5"


@pytest.mark.parametrize(
    ("text", "version", "gate", "on"),
    [
        pytest.param("", (1, 6), "RayServiceIncrementalUpgrade", False, id="alpha in that version"),
        pytest.param("", (1, 7), "RayServiceIncrementalUpgrade", True, id="beta since then"),
        pytest.param("", (1, 5), "RayJobDeletionPolicy", False, id="alpha before"),
        pytest.param("AllAlpha=true", (1, 6), "RayCronJob", True, id="all of a stage"),
        pytest.param("AllAlpha=true,RayCronJob=false", (1, 6), "RayCronJob", False, id="but for one"),
        pytest.param("RayMultiHostIndexing=false", None, "RayMultiHostIndexing", False, id="said"),
    ],
)
def test_gates_stay_as_they_were(text: str, version: tuple[int, int] | None, gate: str, on: bool) -> None:
    assert effective(text, version)[0][gate] is on


def test_a_gate_that_manta_does_not_have_is_told() -> None:
    made = planned(Found(), operator("--feature-gates=RayFutureThing=true"))
    assert states(made)["not in the values: gate RayFutureThing"] == "warn"


def test_a_plain_operator_needs_no_values_but_its_gates() -> None:
    flags = ["--log-stdout-encoder", "json", "--qps=100", "--burst=200", "--reconcile-concurrency=1"]
    assert set(values(operator(*flags))) == {"featureGates"}


def test_everything_that_was_told_is_in_the_values() -> None:
    sidecar = {"name": "side", "image": "example/side:1"}
    rich = operator(
        "--config=/etc/kuberay/config.yaml",
        "--log-stdout-encoder=console",
        "--zap-log-level=2",
        file={
            "watchNamespace": "one,two",
            "batchScheduler": "volcano",
            "useKubernetesProxy": True,
            "qps": 50,
            "burst": 70,
            "headSidecarContainers": [sidecar],
        },
        given={
            "singleNamespaceInstall": True,
            "metrics": {"serviceMonitor": {"enabled": True, "selector": {}}},
            "resources": {"limits": {"cpu": "1"}},
        },
        container={"env": [{"name": "ENABLE_PROBES_INJECTION", "value": "false"}]},
        nodeSelector={"disk": "ssd"},
    )
    made = values(rich)
    made.pop("featureGates")
    assert made == {
        "watchNamespace": ["one", "two"],
        "batchScheduler": {"name": "volcano"},
        "kubeClient": {"qps": 50.0, "burst": 70},
        "logging": {"level": "debug", "stdoutEncoder": "console"},
        "env": [{"name": "ENABLE_PROBES_INJECTION", "value": "false"}],
        "useKubernetesProxy": True,
        "configuration": {"enabled": True, "headSidecarContainers": [sidecar]},
        "nodeSelector": {"disk": "ssd"},
        "singleNamespaceInstall": True,
        "metrics": {"serviceMonitor": {"enabled": True}},
    }
    assert [name for name, _ in notes(rich)] == ["resources"]


def test_all_names_of_values_are_those_of_the_chart() -> None:
    known = yaml.safe_load((ROOT / "deploy/helm/manta/values.yaml").read_text())
    everything = operator(
        "--watch-namespace=a", "--enable-batch-scheduler", "--qps=1", "--zap-log-level=error", "--use-kubernetes-proxy",
        file={"defaultPodLabels": {"a": "b"}},
        given={"rbacEnable": True, "crNamespacedRbacEnable": True, "service": {"port": 1}, "labels": {}},
        container={"env": [{"name": "ENABLE_WEBHOOKS", "value": "true"}, {"name": "TZ", "value": "UTC"}]},
        tolerations=[{"operator": "Exists"}], affinity={"a": {}}, priorityClassName="p",
        imagePullSecrets=[{"name": "s"}],
    )  # fmt: skip
    made = planned(Found(roles=("rayjob-editor-role",)), everything).values
    assert made["admissionPolicies"] is True
    assert made["userRoles"] is False
    assert set(made) <= set(known)


@pytest.mark.parametrize(
    ("made", "state"),
    [
        pytest.param(operator(), "ok", id="as it should be"),
        pytest.param(operator(image="example/kuberay/operator:nightly"), "warn", id="a version that is not known"),
        pytest.param(operator(image="quay.io/kuberay/operator:v1.1.1"), "fail", id="too old"),
        pytest.param(
            operator(metadata={"annotations": {"argocd.argoproj.io/tracking-id": "x"}}), "warn", id="kept by Argo CD"
        ),
    ],
)
def test_an_operator_is_judged(made: Operator, state: str) -> None:
    assert states(planned(Found(operators=(made,)), made))["KubeRay"] == state


@pytest.mark.parametrize(
    ("plural", "one", "check", "state"),
    [
        ("rayjobs", ray(status={"jobDeploymentStatus": "Running"}), "RayJobs that run or wait", "ok"),
        ("rayjobs", ray(spec={"suspend": True}), "suspended RayJobs", "ok"),
        (
            "rayjobs",
            ray(status={"jobDeploymentStatus": "Retrying"}),
            "RayJobs that are being suspended or tried again",
            "fail",
        ),
        (
            "rayservices",
            ray(status={"conditions": [{"type": "UpgradeInProgress", "status": "True"}]}),
            "RayServices whose upgrade runs",
            "fail",
        ),
        (
            "rayclusters",
            ray(status={"conditions": [{"type": "RayClusterSuspending", "status": "True"}]}),
            "RayClusters that are being suspended",
            "fail",
        ),
        ("rayclusters", ray(spec={"enableInTreeAutoscaling": True}), "RayClusters with Ray's autoscaler", "ok"),
        ("rayclusters", ray(metadata={"deletionTimestamp": TIME}), "objects that are being deleted", "warn"),
        ("rayjobs", ray(spec={"managedBy": "kueue.x-k8s.io/multikueue"}), "objects of another controller", "ok"),
        ("raycronjobs", ray(), "RayCronJobs", "ok"),
    ],
)  # fmt: skip
def test_what_is_under_way_is_told(plural: str, one: RayObject, check: str, state: str) -> None:
    made = planned(Found(objects={plural: (one,)}))
    assert states(made)[check] == state
    assert made.ready is (state != "fail")
    assert check not in states(planned(Found()))


def test_objects_that_the_operator_does_not_look_after_hold_nothing_up() -> None:
    retried = ray(status={"jobDeploymentStatus": "Retrying"})
    made = planned(Found(objects={"rayjobs": (retried,)}), operator("--watch-namespace=elsewhere"))
    assert made.ready


def test_ended_jobs_and_services_at_rest_hold_nothing_up() -> None:
    done = ray(status={"jobDeploymentStatus": "Complete"}, spec={"suspend": False})
    calm = ray(status={"conditions": [{"type": "UpgradeInProgress", "status": "False"}]})
    assert planned(Found(objects={"rayjobs": (done,), "rayservices": (calm,)})).ready


@pytest.mark.parametrize(
    ("definition", "state"),
    [
        (Definition(name="c", served=("v1",), stored=("v1",)), "ok"),
        (Definition(name="c", served=("v1", "v1alpha1"), stored=("v1alpha1", "v1")), "warn"),
        (Definition(name="c", served=("v1alpha1",), stored=("v1alpha1",)), "fail"),
    ],
)
def test_versions_of_the_crds_are_looked_at(definition: Definition, state: str) -> None:
    assert states(planned(Found(definitions=(definition,))))["CRD c"] == state


def test_the_steps_end_kuberay_before_manta_is_installed_and_the_way_back_undoes_them() -> None:
    one = operator(replicas=2)
    old = Definition(name="c", served=("v1",), stored=("v1",))
    made = planned(Found(operators=(one,), definitions=(old,), webhooks=("hooks",)), one)
    commands = [step.run for step in made.steps]
    flags = "--namespace manta-system --skip-crds --values values.yaml"
    assert commands == [
        f"helm install manta deploy/helm/manta {flags} --dry-run=server >/dev/null",
        "kubectl get validatingwebhookconfiguration hooks -o yaml > hooks.yaml",
        "kubectl delete validatingwebhookconfiguration hooks",
        "kubectl -n ray-system scale deployment kuberay-operator --replicas=0",
        f"kubectl -n ray-system wait --for=delete pod --selector {SELECTOR} --timeout=120s",
        "manta crds apply",
        f"helm install manta deploy/helm/manta {flags} --create-namespace --wait",
    ]
    assert [step.run for step in made.back] == [
        "helm uninstall manta --namespace manta-system --wait",
        "kubectl -n ray-system scale deployment kuberay-operator --replicas=2",
        "kubectl create -f hooks.yaml",
    ]


def test_of_several_operators_one_must_be_named() -> None:
    both = (operator(), operator(name="second"))
    assert states(planned(Found(operators=both)))["operators"] == "fail"
    assert states(planned(Found(operators=both), both[0]))["operators"] == "ok"


def test_helms_values_are_read_from_its_newest_secret() -> None:
    def secret(version: str, config: Any) -> Any:
        packed = gzip.compress(json.dumps({"config": config, "chart": {}}).encode())
        data = base64.b64encode(base64.b64encode(packed)).decode()
        return {"metadata": {"labels": {"version": version}}, "data": {"release": data}}

    assert helm.given([secret("9", {"a": 1}), secret("10", {"a": 2})]) == {"a": 2}
    assert helm.given([secret("1", None)]) == {}
    assert helm.given([]) is None
    assert helm.given([{"metadata": {}, "data": {"release": "bm90IGd6aXA="}}]) is None


def test_the_file_is_found_by_its_mount() -> None:
    mounts = {"volumeMounts": [{"name": "config", "mountPath": "/etc/kuberay/"}]}
    volumes = [{"name": "config", "configMap": {"name": "kuberay-config"}}, {"name": "logs", "emptyDir": {}}]
    made = deployment(container=mounts, volumes=volumes)
    container = inspect.operator_container(made)
    assert container
    assert inspect.config_map(made, container, "/etc/kuberay/config.yaml") == "kuberay-config"
    assert inspect.config_map(made, container, "/elsewhere/config.yaml") == ""


def test_other_deployments_are_no_operators() -> None:
    other = deployment(image="example/web:1", container={"name": "web"})
    assert inspect.operator_container(other) is None


def test_without_kuberay_there_is_nothing_to_do() -> None:
    async def scenario(place: Place) -> None:
        place.make(RAYJOB, manifests.job(name="j"))
        assert await place.manta("doctor", "--migrate", "-o", "json") == 0
        answer = place.document
        assert answer["steps"] == []
        assert {"RayJobs": "1, 0 of them ended"}.items() <= {
            one["check"]: one["found"] for one in answer["findings"]
        }.items()
        assert await place.manta("doctor", "--migrate") == 0
        assert "no operator is in this cluster" in place.said

    played(scenario)


def test_an_upgrade_under_way_is_told_by_the_exit_code() -> None:
    async def scenario(place: Place) -> None:
        place.make(RAYSERVICE, manifests.service(name="s"))
        conditions = [
            {"type": "UpgradeInProgress", "status": "True", "reason": "x", "message": "", "lastTransitionTime": TIME}
        ]
        patch = MergePatch({"status": {"conditions": conditions}})
        place.store.patch(RAYSERVICE, Key("team", "s"), patch, USER, subresource="status")
        assert await place.manta("doctor", "--migrate") == 1
        assert "fail  RayServices whose upgrade runs: 1: team/s" in place.said

    played(scenario)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--values", "x"], "--values can only be said with --migrate"),
        (["--migrate", "--operator", "a/b"], "--operator a/b: there is no such KubeRay operator; there are: none"),
    ],
)
def test_bad_input_is_told(words: list[str], complaint: str) -> None:
    async def scenario(place: Place) -> None:
        with pytest.raises(Failed, match=complaint):
            await place.manta("doctor", *words)

    played(scenario)
