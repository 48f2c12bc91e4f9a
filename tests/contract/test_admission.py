"""The admission policies on a real API server: every rule kept and broken, in the operator's words."""

import contextlib
import functools
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from manta_common.validation.admission.policy import PLURALS, documents
from tests.examples import kinds, manifests
from tests.examples.example import Example, Json
from tests.examples.manifests import both, worker
from tests.parts.cluster import ApiError, Cluster
from tests.parts.process import wait_until
from tests.unit.manta_common.validation.policies import LEFT_OUT

ROOT = pathlib.Path(__file__).parents[2]
POLICIES = "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
LIMIT_SECONDS = 60
EXAMPLES = [
    example
    for example in (*kinds.CLUSTERS, kinds.UNIQUE_GROUPS, *kinds.JOBS, *kinds.SERVICES, *kinds.CRON_JOBS)
    if example.rule not in LEFT_OUT
]


def sentence(example: Example) -> str:
    return example.says


class Judge:
    """A namespace in which the policies are in force."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace

    def path(self, manifest: Json) -> str:
        """Where objects of a manifest's kind live."""
        return f"apis/ray.io/v1/namespaces/{self.namespace}/{PLURALS[manifest['kind']]}"

    def refusal(self, manifest: Json) -> str:
        """What the API server says to a manifest; nothing if it would take it."""
        try:
            self.cluster.request("POST", f"{self.path(manifest)}?dryRun=All", manifest)
        except ApiError as error:
            return f"{error.code} {error.status['message']}"
        return ""

    def enforce(self, *, on: bool) -> None:
        """Put the policies into force in this namespace, or out of it."""
        label = {"metadata": {"labels": {"manta-admission": "on" if on else None}}}
        path = f"api/v1/namespaces/{self.namespace}"
        self.cluster.request("PATCH", path, label, content_type="application/merge-patch+json")
        broken = {kind: next(e.bad for e in EXAMPLES if e.bad["kind"] == kind) for kind in PLURALS}
        wait_until(
            f"the policies are in force: {on}",
            lambda: all(bool(self.refusal(manifest)) is on for manifest in broken.values()),
            limit_seconds=LIMIT_SECONDS,
        )


@pytest.fixture(scope="module")
def policies(kubernetes: Cluster, ray_crds: None) -> Iterator[Cluster]:
    """A cluster with our CRDs and policies; these bind only where a namespace asks for it, and let no doubt pass."""
    for policy, binding in map(documents, PLURALS):
        policy["spec"]["failurePolicy"] = "Fail"
        binding["spec"]["matchResources"] = {"namespaceSelector": {"matchLabels": {"manta-admission": "on"}}}
        kubernetes.request("POST", POLICIES, policy)
        kubernetes.request("POST", BINDINGS, binding)
    yield kubernetes
    for plural in PLURALS.values():
        kubernetes.request("DELETE", f"{BINDINGS}/manta-{plural}")
        kubernetes.request("DELETE", f"{POLICIES}/manta-{plural}")


@pytest.fixture(scope="module")
def judge(policies: Cluster) -> Iterator[Judge]:
    """A namespace in which the policies are in force."""
    with policies.fresh_namespace("admission") as name:
        found = Judge(policies, name)
        found.enforce(on=True)
        yield found


@pytest.mark.parametrize("example", EXAMPLES, ids=sentence)
def test_an_object_that_keeps_the_rule_is_taken(example: Example, judge: Judge) -> None:
    assert judge.refusal(example.good) == ""


@pytest.mark.parametrize("example", EXAMPLES, ids=sentence)
def test_an_object_that_breaks_the_rule_is_refused(example: Example, judge: Judge) -> None:
    policy = f"manta-{PLURALS[example.bad['kind']]}"
    refusal = judge.refusal(example.bad)
    assert refusal.startswith("422 ")
    assert refusal.endswith(
        f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {example.message}"
    )


@pytest.mark.parametrize("example", kinds.UNCHECKED, ids=sentence)
def test_what_cel_cannot_judge_is_left_to_the_operator(example: Example, judge: Judge) -> None:
    assert judge.refusal(example.bad) == ""


def test_an_object_of_another_controller_is_not_judged(judge: Judge) -> None:
    broken = both(worker(minReplicas=-1), {"managedBy": "kueue.x-k8s.io/multikueue"})
    assert judge.refusal(manifests.cluster(broken)) == ""


def test_an_object_from_before_the_policies_lives_on(policies: Cluster) -> None:
    with policies.fresh_namespace("before") as name, contextlib.ExitStack() as stack:
        found = Judge(policies, name)
        broken = manifests.cluster(worker(minReplicas=-1), name="old")
        path = f"{found.path(broken)}/old"
        policies.request("POST", found.path(broken), broken)
        stack.callback(policies.request, "DELETE", path)
        found.enforce(on=True)
        patched(policies, path, {"metadata": {"finalizers": ["manta.test/hold"], "annotations": {"a": "b"}}})
        with pytest.raises(ApiError, match="negative minReplicas -1"):
            patched(policies, path, {"spec": {"suspend": True}})
        with pytest.raises(ApiError, match="negative minReplicas -1"):
            patched(policies, path, {"metadata": {"annotations": {"ray.io/ft-enabled": "true"}}})
        policies.request("DELETE", path)
        patched(policies, path, {"spec": {"suspend": True}})
        patched(policies, path, {"metadata": {"finalizers": None}})
        stack.pop_all()


def patched(cluster: Cluster, path: str, patch: Json) -> Any:
    return cluster.request("PATCH", path, patch, content_type="application/merge-patch+json")


def is_checked(policy: Callable[[], Json]) -> bool:
    return "typeChecking" in policy().get("status", {})


def test_the_api_server_finds_no_fault_with_the_expressions(policies: Cluster) -> None:
    for plural in PLURALS.values():
        found = functools.partial(policies.request, "GET", f"{POLICIES}/manta-{plural}")
        wait_until(f"{plural} are checked", functools.partial(is_checked, found), limit_seconds=LIMIT_SECONDS)
        assert found()["status"]["typeChecking"] == {}


def test_the_files_are_what_the_api_server_was_given(policies: Cluster) -> None:
    for kind, plural in PLURALS.items():
        written = list(yaml.safe_load_all((ROOT / "deploy" / "admission" / f"{plural}.yaml").read_text()))
        assert written == documents(kind)
        flags = ("--server-side", "--force-conflicts", "--dry-run=server")
        policies.kubectl("apply", *flags, "-f", str(ROOT / "deploy" / "admission" / f"{plural}.yaml"))
