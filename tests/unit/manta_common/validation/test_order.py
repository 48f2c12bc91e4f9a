"""With several faults the first problem is the one KubeRay would report, and the others are told too."""

import pytest

from manta_common.api.gates import Gates
from tests.examples import jobs, manifests
from tests.examples.example import ALL_GATES, DEFAULT_GATES, Json, problems
from tests.examples.jobs import rule, rules
from tests.examples.manifests import both, head, head_env, head_pod, mount, worker, workers


def messages(manifest: Json, gates: Gates = ALL_GATES) -> list[str]:
    return [problem.message for problem in problems(manifest, gates)]


@pytest.mark.parametrize(
    ("manifest", "first", "next_one"),
    [
        pytest.param(
            manifests.cluster(head_pod(containers=[]), name="A"),
            "RayCluster name should be a valid DNS1035",
            "headGroupSpec should have",
            id="the name comes before the spec",
        ),
        pytest.param(
            manifests.cluster(workers({"minReplicas": -1, "priority": 1}, {"groupName": "b", "maxReplicas": -1})),
            "worker group small has negative minReplicas",
            "worker group small: priority is set to 1",
            id="one group's rules come before the next group's",
        ),
        pytest.param(
            manifests.cluster(worker(minReplicas=2, maxReplicas=-3)),
            "worker group small has negative maxReplicas -3",
            "worker group small has minReplicas 2 greater than maxReplicas -3",
            id="bounds are checked one by one before they are compared",
        ),
        pytest.param(
            manifests.cluster(both(worker(suspend=True), {"enableInTreeAutoscaling": True, "tlsOptions": {}})),
            "worker group small cannot be suspended with Autoscaler enabled",
            "spec.tlsOptions requires",
            id="the autoscaler comes before TLS",
        ),
        pytest.param(
            manifests.cluster(both(head_env(RAY_REDIS_ADDRESS="a", REDIS_USERNAME="b", RAY_enable_autoscaler_v2="1"))),
            "RAY_REDIS_ADDRESS is set which",
            "cannot set redis username",
            id="fault tolerance comes before the autoscaler",
        ),
        pytest.param(
            manifests.job({"backoffLimit": -1, "activeDeadlineSeconds": 0, "runtimeEnvYAML": "[", "suspend": True}),
            "The RayJob spec is invalid: a RayJob with shutdownAfterJobFinishes",
            "failed to unmarshal RuntimeEnvYAML",
            id="a job's suspension comes before its runtime environment",
        ),
        pytest.param(
            manifests.job({"clusterSelector": {"a": "b"}, "backoffLimit": 1}),
            "cluster name in ClusterSelector should not be empty",
            "The RayJob spec is invalid: BackoffLimit is incompatible with ClusterSelector mode",
            id="a selector without a name comes before its retries",
        ),
        pytest.param(
            manifests.service(both({"rayClusterConfig": head_pod(containers=[])}, {"upgradeStrategy": {"type": "x"}})),
            "The RayService spec is invalid: headGroupSpec should have",
            "The RayService spec is invalid: Spec.UpgradeStrategy.Type value x",
            id="a service's cluster comes before its upgrade",
        ),
        pytest.param(
            manifests.cron_job({"schedule": "x", "timeZone": "y"}),
            "invalid cron schedule: expected exactly 5 fields",
            "invalid time zone: unknown time zone y",
            id="a schedule comes before its time zone",
        ),
    ],
)
def test_the_first_problem_is_kuberays(manifest: Json, first: str, next_one: str) -> None:
    found = messages(manifest, DEFAULT_GATES)
    assert found[0].startswith(first)
    assert found[1].startswith(next_one)


def test_all_faults_of_deletion_rules_are_one_message() -> None:
    broken = rules(
        rule("DeleteWorkers", 10, jobStatus="FAILED"),
        rule("DeleteCluster", 5, jobStatus="FAILED"),
        rule("DeleteSelf", 7, jobStatus="FAILED"),
        rule("DeleteSelf", 8, jobStatus="FAILED"),
        rule("DeleteWorkers", 3, jobDeploymentStatus="Failed"),
        rule("DeleteSelf", 2, jobDeploymentStatus="Failed"),
    )
    found = problems(manifests.job(broken), ALL_GATES)
    assert [problem.path for problem in found] == ["spec.deletionStrategy.deletionRules"]
    assert found[0].message.split("\n") == [
        "deletionRules[3]: duplicate rule for DeletionPolicyType 'DeleteSelf' and JobStatus 'FAILED'",
        "for JobStatus 'FAILED': DeleteCluster TTL (5) must be >= DeleteWorkers TTL (10)",
        "for JobDeploymentStatus 'Failed': DeleteSelf TTL (2) must be >= DeleteWorkers TTL (3)",
    ]
    assert "Remove rule 3." in found[0].fix


def test_a_faulty_rule_does_not_count_for_the_order() -> None:
    broken = rules(rule("DeleteCluster", 9, jobStatus="FAILED"), rule("DeleteSelf", 1, jobStatus="FAILED"))
    found = messages(manifests.job(both(jobs.SELECTOR, broken)))
    assert found == ["deletionRules[0]: DeletionPolicyType 'DeleteCluster' not supported when ClusterSelector is set"]


def test_rules_with_a_shutdown_are_told_of_it_before_their_own_faults() -> None:
    broken = rules(rule("DeleteSelf", jobStatus="FAILED"), rule("DeleteSelf", jobStatus="FAILED"))
    found = messages(manifests.job(both(jobs.SHUTDOWN, broken)))
    assert [message[:30] for message in found] == ["The RayJob spec is invalid: sp", "deletionRules[1]: duplicate ru"]


def test_all_bad_labels_of_a_group_are_one_message() -> None:
    found = problems(manifests.cluster(head(labels={"a b": "x", "ok": "y", "c": "-"})), ALL_GATES)
    assert [problem.path for problem in found] == ["spec.headGroupSpec.labels"]
    first, second = found[0].message.split("; ")
    assert first.startswith("invalid label key for Head group: 'a b', error: name part must consist")
    assert second.startswith("invalid label value for key 'c' in Head group: '-', error: a valid label must")


def test_an_object_without_a_spec_is_told_what_it_needs() -> None:
    empty = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "a"}}
    assert messages(empty) == ["headGroupSpec should have at least one container"]


def test_gates_decide_before_contents() -> None:
    found = messages(manifests.cluster({"networkPolicy": {"workerGroups": [{"groupName": "x"}]}}), DEFAULT_GATES)
    assert [message[:30] for message in found] == ["spec.networkPolicy requires th", 'networkPolicy.workerGroups["x"']


def test_without_the_gate_an_incremental_upgrade_is_not_checked() -> None:
    manifest = manifests.service({"upgradeStrategy": {"type": "NewClusterWithIncrementalUpgrade"}})
    assert messages(manifest, Gates(incremental_upgrade=False)) == []
    assert len(messages(manifest, Gates())) == 2


def test_without_the_gate_tls_clashes_do_not_matter() -> None:
    clash = both({"tlsOptions": {"enabled": True}}, {"autoscalerOptions": mount("ray-tls", "/etc/ray/tls")})
    assert messages(manifests.cluster(clash), DEFAULT_GATES) == [
        "spec.tlsOptions requires the RayClusterMTLS feature gate to be enabled"
    ]
    assert len(messages(manifests.cluster(clash), ALL_GATES)) == 2


def test_a_cron_jobs_template_has_no_annotations() -> None:
    annotated = manifests.cron_job() | {"metadata": {"name": "demo", "annotations": {"ray.io/ft-enabled": "true"}}}
    template = annotated["spec"]["jobTemplate"] | {
        "rayClusterSpec": manifests.CLUSTER | {"gcsFaultToleranceOptions": {}}
    }
    assert messages(annotated | {"spec": annotated["spec"] | {"jobTemplate": template}}) == []
