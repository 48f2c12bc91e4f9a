"""Objects that belong together have one root, whatever the order in which they are seen."""

import pytest

from manta_common.api.meta import ObjectMeta, OwnerReference
from manta_common.keys import Key
from manta_watcher.roots import Place, Roots, family_of, parent


def owner(kind: str, name: str, *, controller: bool = True) -> OwnerReference:
    return OwnerReference(api_version="ray.io/v1", kind=kind, name=name, uid=f"uid-{name}", controller=controller)


def place(kind: str, name: str) -> Place:
    return Place(kind, Key("n", name))


CRON, JOB, CLUSTER, POD = place("raycronjob", "c"), place("rayjob", "j"), place("raycluster", "r"), place("pod", "p")
SERVICE = place("rayservice", "s")


@pytest.mark.parametrize(
    ("kind", "metadata", "expected"),
    [
        pytest.param("raycluster", ObjectMeta(namespace="n"), None, id="a cluster of its own"),
        pytest.param(
            "raycluster", ObjectMeta(namespace="n", owner_references=(owner("RayJob", "j"),)), JOB, id="of a job"
        ),
        pytest.param(
            "pod", ObjectMeta(namespace="n", labels={"ray.io/cluster": "r"}), CLUSTER, id="a pod by its label"
        ),
        pytest.param(
            "pod",
            ObjectMeta(namespace="n", owner_references=(owner("Job", "s"),)),
            place("job", "s"),
            id="a submitter's pod by its owner",
        ),
        pytest.param(
            "service",
            ObjectMeta(namespace="n", labels={"ray.io/cluster": "r"}, owner_references=(owner("RayJob", "j"),)),
            JOB,
            id="a service by its owner, not by its label",
        ),
        pytest.param(
            "endpointslice",
            ObjectMeta(namespace="n", labels={"kubernetes.io/service-name": "s"}),
            place("service", "s"),
            id="an endpoint slice by its label",
        ),
        pytest.param(
            "job",
            ObjectMeta(
                namespace="n", owner_references=(owner("RayCluster", "r", controller=False), owner("RayJob", "j"))
            ),
            JOB,
            id="the controlling owner first",
        ),
        pytest.param(
            "raycluster",
            ObjectMeta(namespace="n", owner_references=(owner("Workflow", "w"),)),
            None,
            id="a foreign owner",
        ),
    ],
)
def test_what_an_object_belongs_to(kind: str, metadata: ObjectMeta, expected: Place | None) -> None:
    assert parent(kind, metadata) == expected


def test_the_root_is_the_topmost_object() -> None:
    roots = Roots()
    for child, above in ((POD, CLUSTER), (CLUSTER, JOB), (JOB, CRON), (CRON, None)):
        roots.put(child, above)
    assert {roots.line(found)[-1] for found in (POD, CLUSTER, JOB, CRON)} == {CRON}
    assert roots.is_complete(POD)


@pytest.mark.parametrize(
    ("line", "family"),
    [
        pytest.param([POD, CLUSTER], "plain", id="a cluster of nobody"),
        pytest.param([POD, CLUSTER, JOB], "job", id="a job's"),
        pytest.param([POD, CLUSTER, JOB, CRON], "job", id="a schedule's"),
        pytest.param([POD, CLUSTER, SERVICE], "serve", id="a RayService's"),
        pytest.param([POD, CLUSTER, JOB, CLUSTER], "job", id="a job that goes with a cluster"),
        pytest.param([POD, CLUSTER, SERVICE, JOB], "mixed", id="a RayService that goes with a job"),
    ],
)
def test_the_family_of_a_descent(line: list[Place], family: str) -> None:
    assert family_of(line) == family


def test_what_has_not_been_seen_is_named_but_not_complete() -> None:
    roots = Roots()
    roots.put(POD, CLUSTER)
    assert roots.line(POD)[-1] == CLUSTER
    assert not roots.is_complete(POD)
    roots.put(CLUSTER, None)
    assert roots.is_complete(POD)


def test_adoption_changes_the_root_of_everything_below() -> None:
    roots = Roots()
    roots.put(CLUSTER, None)
    roots.put(POD, CLUSTER)
    assert not roots.put(CLUSTER, None)
    assert roots.put(CLUSTER, JOB)
    assert roots.below(JOB) == [CLUSTER, POD]
    assert roots.line(POD)[-1] == JOB


def test_a_removed_object_is_no_longer_below() -> None:
    roots = Roots()
    roots.put(CLUSTER, JOB)
    roots.remove(CLUSTER)
    assert roots.below(JOB) == []


def test_a_circle_of_owners_ends_somewhere() -> None:
    roots = Roots()
    roots.put(CLUSTER, JOB)
    roots.put(JOB, CLUSTER)
    assert roots.line(CLUSTER)[-1] in (CLUSTER, JOB)
    assert roots.is_complete(CLUSTER)
    assert set(roots.below(CLUSTER)) == {CLUSTER, JOB}
