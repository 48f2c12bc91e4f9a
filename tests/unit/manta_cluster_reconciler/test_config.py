"""KubeRay's variables mean the same to Manta; Manta's own win."""

import pytest

from manta_cluster_reconciler.config import Config
from manta_cluster_reconciler.rules import Rules
from manta_common.config import load
from manta_common.errors import Misconfigured


def rules(**environment: str) -> Rules:
    return load(Config, environment).rules(openshift=False, cert_manager=False)


def test_without_a_word_everything_is_as_in_kuberay() -> None:
    assert rules() == Rules()


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("ENABLE_RANDOM_POD_DELETE", "True", "random_pod_delete", True),
        ("ENABLE_GCS_FT_REDIS_CLEANUP", "false", "redis_cleanup", False),
        ("RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", "30", "resync_seconds", 30),
        ("MANTA_CLUSTER_RECONCILER_IN_FLIGHT", "7", "in_flight", 7),
    ],
)
def test_what_decisions_depend_on(name: str, value: str, field: str, expected: object) -> None:
    assert getattr(rules(**{name: value}), field) == expected


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("CLUSTER_DOMAIN", "example.test", "cluster_domain", "example.test"),
        ("ENABLE_INIT_CONTAINER_INJECTION", "false", "init_container", False),
        ("ENABLE_PROBES_INJECTION", "FALSE", "probes", False),
        ("ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE", "true", "head_cluster_ip", True),
        ("ENABLE_LOGIN_SHELL", "true", "login_shell", True),
        ("ENABLE_DETERMINISTIC_HEAD_POD_NAME", "true", "fixed_head_name", True),
        ("USE_INGRESS_ON_OPENSHIFT", "true", "ingress_on_openshift", True),
        ("MANTA_CLUSTER_RECONCILER_BATCH_SCHEDULER", "volcano", "batch_scheduler", "volcano"),
        (
            "MANTA_CLUSTER_RECONCILER_DEFAULT_CONTAINER_ENVS",
            '[{"name": "A", "value": "b,c"}]',
            "container_envs",
            ({"name": "A", "value": "b,c"},),
        ),
        ("MANTA_CLUSTER_RECONCILER_DEFAULT_POD_LABELS", "{team: a}", "pod_labels", {"team": "a"}),
    ],
)
def test_how_clusters_are_built(name: str, value: str, field: str, expected: object) -> None:
    assert getattr(rules(**{name: value}).ray, field) == expected


def test_mantas_own_variable_wins() -> None:
    found = rules(CLUSTER_DOMAIN="theirs", MANTA_CLUSTER_RECONCILER_CLUSTER_DOMAIN="ours")
    assert found.ray.cluster_domain == "ours"


def test_a_value_that_cannot_be_is_told_under_the_name_it_was_given() -> None:
    with pytest.raises(Misconfigured, match="MANTA_CLUSTER_RECONCILER_PROBES is 'maybe'; expected true or false"):
        rules(MANTA_CLUSTER_RECONCILER_PROBES="maybe")


def test_a_word_that_kuberay_does_not_know_changes_nothing() -> None:
    assert rules(ENABLE_PROBES_INJECTION="maybe", RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV="soon") == Rules()
