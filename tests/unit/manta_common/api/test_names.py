"""Names at their length limits, as KubeRay makes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manta_common.api import labels, names

A50, A51, A53, A63 = "a" * 50, "a" * 51, "a" * 53, "a" * 63
TEXT = st.text(alphabet="ab0-.", min_size=1, max_size=120)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(names.object_name(A50), A50, id="50 characters stay"),
        pytest.param(names.object_name("b" + A50), A50, id="of 51 the last 50 stay"),
        pytest.param(names.object_name("b1" + "a" * 49), "r" + "a" * 49, id="a digit that comes first becomes r"),
        pytest.param(names.object_name("b-" + "a" * 49), "r" + "a" * 49, id="a hyphen that comes first becomes r"),
        pytest.param(names.object_name("1"), "r", id="a digit alone becomes r"),
        pytest.param(names.object_name("$a"), "$a", id="a symbol is no punctuation"),
        pytest.param(names.object_name(""), "", id="nothing stays nothing"),
        pytest.param(
            names.object_name("é" + "a" * 49), "a" * 49, id="bytes are counted, and no half character is left"
        ),
        pytest.param(names.label_value(A63), A63, id="63 characters of a label stay"),
        pytest.param(names.label_value("b" + A63), A63, id="of 64 characters of a label the last 63 stay"),
        pytest.param(names.label_value("b1" + "a" * 62), "1" + "a" * 62, id="a label may begin with a digit"),
        pytest.param(names.label_value("b-" + "a" * 62), "r" + "a" * 62, id="a label does not begin with a hyphen"),
        pytest.param(names.identifier(A53, labels.HEAD), f"{A53}-head", id="the longest cluster's identifier"),
        pytest.param(names.identifier(A53, labels.WORKER), f"{A53}-worker", id="its workers' identifier"),
        pytest.param(names.identifier("b" * 5 + A53, labels.HEAD), f"{A53}-head".rjust(63, "b"), id="a cut identifier"),
        pytest.param(names.head_pod("Demo"), "demo-head", id="the head's fixed name"),
        pytest.param(names.head_pod_prefix(A50), f"{A50}-head-", id="50 characters before -head-"),
        pytest.param(names.head_pod_prefix(A50 + "bc"), f"{A50}-head-", id="of more the first 50 before -head-"),
        pytest.param(names.worker_pod_prefix("c", "G"), "c-g-worker-", id="a worker's name in lower case"),
        pytest.param(names.worker_pod_prefix("a" * 47, "bcd"), f"{'a' * 47}-bc-worker-", id="50 before -worker-"),
        pytest.param(names.worker_pod_prefix(A50, "g"), f"{A50}-worker-", id="a group cut off"),
        pytest.param(names.head_service("c"), "c-head-svc", id="a head Service"),
        pytest.param(names.head_service("c", "mine"), "mine", id="a head Service of the user's naming"),
        pytest.param(names.serve_service("c"), "c-serve-svc", id="a serve Service"),
        pytest.param(names.serve_label("c"), "c-serve", id="a serve Service's label"),
        pytest.param(names.headless_service("c"), "c-headless", id="a headless Service"),
        pytest.param(names.service_address("s", "n"), "s.n.svc.cluster.local", id="an address in the usual domain"),
        pytest.param(names.service_address("s", "n", "x.y"), "s.n.svc.x.y", id="an address in another domain"),
        pytest.param(names.ingress("a" * 37), f"{'a' * 37}-head-ingress", id="an Ingress of 50"),
        pytest.param(names.ingress("b" + "a" * 37), f"{'a' * 37}-head-ingress", id="an Ingress of 51"),
        pytest.param(names.route("c", "ns"), "c-head-route", id="a Route"),
        pytest.param(names.route("a" * 39, "n"), f"{'a' * 39}-head-route", id="a Route that just fits"),
        pytest.param(names.route("a" * 40, "n"), f"{'a' * 40}-head-rout", id="a Route cut at its end"),
        pytest.param(names.route("abc", "n" * 60), "a", id="a Route in a namespace that leaves no room"),
        pytest.param(names.autoscaler_account(A53), A50, id="the autoscaler's account"),
        pytest.param(names.autoscaler_account("c", "1mine"), "rmine", id="the autoscaler's account by the user"),
        pytest.param(names.autoscaler_role("1c"), "rc", id="the autoscaler's role"),
        pytest.param(names.auth_secret("bb" + A51), A50, id="a token's Secret"),
        pytest.param(names.auth_secret("c", A53), A53, id="a token's Secret by the user"),
        pytest.param(names.gcs_claim("c"), "c-gcs-pvc", id="a claim"),
        pytest.param(names.gcs_claim("c", "mine"), "mine", id="a claim of the user's"),
        pytest.param(names.redis_cleanup_job("a" * 49), f"{'a' * 49}-redis-cleanup", id="a cleanup Job of 63"),
        pytest.param(names.redis_cleanup_job("b" + "a" * 49), f"{'a' * 49}-redis-cleanup", id="a cleanup Job of 64"),
        pytest.param(names.cron_child("c", 119), "c-1", id="a tick's job, by whole minutes"),
        pytest.param(names.cron_child("c", -62135596800), "c--1035593280", id="the job of a schedule without ticks"),
        pytest.param(names.gateway("s"), "s-gateway", id="a Gateway"),
        pytest.param(names.http_route("s"), "s-httproute", id="an HTTPRoute"),
        pytest.param(names.head_network_policy("c"), "c-head", id="the head's policy"),
        pytest.param(names.worker_network_policy("c", "g"), "c-workers-g", id="a group's policy"),
        pytest.param(names.self_signed_issuer("c"), "ray-selfsigned-issuer-c", id="the first Issuer"),
        pytest.param(names.ca_issuer("c"), "ray-ca-issuer-c", id="the second Issuer"),
        pytest.param(names.ca_certificate("c"), "ray-ca-certificate-c", id="the CA's Certificate"),
        pytest.param(names.ca_secret("c", "0123456789"), "c-ca-secret-01234567", id="the CA's Secret"),
        pytest.param(names.node_certificate("c", "head"), "ray-head-cert-c", id="the head's Certificate"),
        pytest.param(names.node_secret("c", "worker"), "ray-worker-secret-c", id="the workers' Secret"),
        pytest.param(names.volcano_pod_group("c"), "ray-c-pg", id="Volcano's PodGroup"),
        pytest.param(names.workload_pod_group("c"), "c-cluster", id="Kubernetes' PodGroup"),
    ],
)
def test_a_name_is_kuberays(made: str, expected: str) -> None:
    assert made == expected


@pytest.mark.parametrize(
    ("longest", "limit"),
    [
        pytest.param(names.serve_service("a" * names.MAX_CLUSTER_NAME), 63, id="a cluster's serve Service"),
        pytest.param(names.suffixed("a" * names.MAX_JOB_NAME, "x"), names.MAX_CLUSTER_NAME, id="a job's cluster"),
        pytest.param(
            names.suffixed("a" * names.MAX_SERVICE_NAME, "x"), names.MAX_CLUSTER_NAME, id="a service's cluster"
        ),
        pytest.param(
            names.cron_child("a" * names.MAX_CRON_JOB_NAME, 4102444800),
            names.MAX_JOB_NAME,
            id="a cron job's job in 2100",
        ),
        pytest.param(names.head_pod_prefix("a" * 99) + names.suffix("x"), 63, id="a head Pod"),
        pytest.param(names.worker_pod_prefix("a" * 53, "b" * 99) + names.suffix("x"), 63, id="a worker Pod"),
    ],
)
def test_the_longest_name_fits(longest: str, limit: int) -> None:
    assert len(longest) <= limit


def test_a_suffix_belongs_to_its_seeds() -> None:
    assert names.suffix("uid", "group", "0", "1") == names.suffix("uid", "group", "0", "1")
    assert names.suffix("uid", "group", "0", "1") != names.suffix("uid", "group", "1", "0")
    assert names.suffix("ab", "c") != names.suffix("a", "bc")


def test_a_suffix_looks_like_kuberays() -> None:
    made = {names.suffix("uid", str(number)) for number in range(2000)}
    assert all(len(suffix) == 5 and set(suffix) <= set("bcdfghjklmnpqrstvwxz2456789") for suffix in made)
    assert len(made) == 2000


@given(TEXT)
def test_an_object_name_begins_well_and_is_short(name: str) -> None:
    made = names.object_name(name)
    assert len(made) <= 50
    assert made[0] in "abr"


@given(TEXT)
def test_shortening_twice_changes_nothing(name: str) -> None:
    assert names.object_name(names.object_name(name)) == names.object_name(name)
    assert names.label_value(names.label_value(name)) == names.label_value(name)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        pytest.param("RayJob", "RayJob", id="a job's"),
        pytest.param("RayService", "RayService", id="a service's"),
        pytest.param("Workflow", "RayCluster", id="somebody else's"),
        pytest.param(None, "RayCluster", id="nobody's"),
    ],
)
def test_a_cluster_has_an_origin(value: str | None, kind: str) -> None:
    assert labels.origin(value) == kind
