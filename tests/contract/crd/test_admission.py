"""What the API server admits with our CRDs, and what it refuses in which words."""

import json
from typing import Any

import msgspec
import pytest

from manta_common.api.documents import merged
from manta_common.api.wire import to_builtins
from manta_common.crd import kubernetes
from manta_common.crd.rules import RULES
from tests.contract.crd.examples import Example, examples
from tests.contract.crd.server import KIND_OF, LEAST, ask, created, is_readable, manifest, path, refusals
from tests.manifests.compare import lost
from tests.manifests.files import STATUSES, manifests
from tests.parts.cluster import ApiError, Cluster

EXAMPLES = list(examples())


@pytest.mark.parametrize("name", manifests())
def test_a_manifest_is_admitted_read_back_and_written_without_loss(cluster: Cluster, namespace: str, name: str) -> None:
    given = manifests()[name]
    kind = KIND_OF[given["kind"]]
    answer = created(cluster, namespace, given)
    where = path(kind.name, namespace, answer["metadata"]["name"])
    status = [{"op": "add", "path": "/status", "value": STATUSES[kind.name]}]
    cluster.request("PATCH", f"{where}/status", status, "application/json-patch+json")
    stored = cluster.request("GET", where)
    document = json.dumps(stored).encode()
    read: Any = msgspec.json.decode(document, type=kind.type)
    assert merged(document, read, read) == document
    written = to_builtins(read)
    assert not list(lost(stored.get("spec", {}), written["spec"]))
    assert written["status"] == stored["status"]
    again = cluster.request("PUT", where, stored | {"spec": written["spec"]})
    assert not list(lost(written["spec"], again["spec"]))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_a_rule_lets_pass_and_refuses(cluster: Cluster, place: str, example: Example) -> None:
    name = f"rule-{EXAMPLES.index(example)}"
    before = created(cluster, place, manifest(example.kind, example.before, name))
    where = f"{path(example.kind, place, name)}?dryRun=All"
    for spec in example.passing:
        cluster.request("PUT", where, before | {"spec": spec})
    with pytest.raises(ApiError) as refused:
        cluster.request("PUT", where, before | {"spec": example.failing})
    assert refused.value.code == 422
    (complaint,) = refusals(refused.value)
    assert complaint[0] == example.field
    assert complaint[1].endswith(f": {example.rule.message}")


def test_there_is_an_example_for_every_rule() -> None:
    assert len(EXAMPLES) == 26
    assert len({(example.kind, example.field) for example in EXAMPLES}) == 15
    assert {example.rule.message for example in EXAMPLES} == {
        rule["message"] for rules in RULES.values() for rule in rules
    }


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService"])
def test_the_backend_and_the_manager_can_be_added_later(cluster: Cluster, place: str, kind: str) -> None:
    one = created(cluster, place, manifest(kind, LEAST[kind], "later"))
    spec = one["spec"] | {"managedBy": "kueue.x-k8s.io/multikueue"}
    cluster.request("PUT", f"{path(kind, place, 'later')}?dryRun=All", one | {"spec": spec})


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService"])
def test_the_old_version_warns_and_loses_what_is_new(cluster: Cluster, namespace: str, kind: str) -> None:
    parameters: dict[str, Any] = {"rayStartParams": {}, "template": {}}
    specs: dict[str, dict[str, Any]] = {
        "RayCluster": {"headGroupSpec": parameters | {"labels": {"a": "b"}}, "suspend": True},
        "RayJob": {"entrypoint": "x", "backoffLimit": 3},
        "RayService": {"serveConfigV2": "x", "suspend": True},
    }
    old = manifest(kind, specs[kind]) | {"apiVersion": "ray.io/v1alpha1"}
    answer = ask(cluster, path(kind, namespace, version="v1alpha1"), old)
    warning = f"ray.io/v1alpha1 {kind} is deprecated; use ray.io/v1 {kind}. v1alpha1 receives no new fields"
    assert warning in answer.warnings[0]
    new = cluster.request("GET", path(kind, namespace, "it"))
    assert "labels" not in new["spec"].get("headGroupSpec", {})
    assert new["spec"].get("backoffLimit") in (None, 0)
    assert is_readable(KIND_OF[kind], new)


def test_the_stored_definitions_are_those_of_this_api_server(cluster: Cluster) -> None:
    documents = [
        cluster.request("GET", "openapi/v3/api/v1"),
        cluster.request("GET", "openapi/v3/apis/networking.k8s.io/v1"),
    ]
    assert kubernetes.taken_from(documents) == kubernetes.stored(), (
        "run `make crds-kubernetes crds` and commit what they write"
    )


@pytest.mark.parametrize(
    ("twice", "where"),
    [
        ({"containers": [{"name": "a"}, {"name": "a"}]}, "containers[1]"),
        ({"containers": [{"name": "a", "env": [{"name": "E"}, {"name": "E"}]}]}, "containers[0].env[1]"),
        (
            {"containers": [{"name": "a", "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]}]},
            "containers[0].ports[1]",
        ),
    ],
)
def test_a_template_may_not_say_a_thing_twice(cluster: Cluster, place: str, twice: Any, where: str) -> None:
    with pytest.raises(ApiError) as refused:
        created(cluster, place, manifest("RayCluster", {"headGroupSpec": {"template": {"spec": twice}}}), dry=True)
    assert (f"spec.headGroupSpec.template.spec.{where}", True) in [
        (field, message.startswith("Duplicate value")) for field, message in refusals(refused.value)
    ]
