"""Rights that only some installations have: with their feature on, a service uses each of them and no other."""

from typing import Any, get_args

import pytest

from manta_cli.rights import all_rights
from manta_cluster_reconciler.rules import Rules
from manta_common.api.gates import Gates
from manta_common.kinds import (
    NAMESPACE,
    PLUGINS_PODGROUP,
    POD,
    RAYCLUSTER,
    ROUTE,
    SERVICE,
    VOLCANO_PODGROUP,
    WORKLOAD,
    WORKLOAD_PODGROUP,
)
from manta_common.ray.settings import RaySettings
from manta_common.rights import When
from manta_embedded.sim.kube import Line
from manta_embedded.sim.simulate import Scenario, simulate
from manta_embedded.sim.world import World
from manta_embedded.store.kube import Call
from manta_job_reconciler.observed import JobSettings
from tests.examples import manifests
from tests.integration.chart_plays import PLAYED
from tests.model import clusters, jobs, test_cluster_children, test_janitor_orphans

SEATS = {"clusters": "cluster-reconciler", "jobs": "job-reconciler", "orphans": "janitor", "watcher": "watcher"}
VERBS = {"apply": "patch"}
GANG = {"ray.io/gang-scheduling-enabled": "true"}
# What needs a Redis or an API server that passes requests on is tried with the real ones.
ELSEWHERE = {"redisByJanitor", "dashboardProxy"}
Use = tuple[str, str, str, str]  # service, verb, group, resource with its part


async def with_plugins(world: World) -> None:
    """A cluster whose pods the scheduler plugins place together."""
    clusters.install(world, PLUGINS_PODGROUP)
    clusters.begin(world, rules=Rules(ray=RaySettings(batch_scheduler="scheduler-plugins")))
    world.create(RAYCLUSTER, manifests.cluster(name="a", labels=GANG))
    await world.until("it is ready", lambda: clusters.is_settled(world, "a"))
    assert world.objects(PLUGINS_PODGROUP)


async def with_workloads(world: World) -> None:
    """A cluster that Kubernetes places as a gang, which changes its size and then is no gang any more."""
    clusters.install(world, WORKLOAD, WORKLOAD_PODGROUP)
    clusters.begin(world, rules=Rules(ray=RaySettings(gates=Gates(workload_scheduling=True))))
    world.create(RAYCLUSTER, manifests.cluster(name="a", labels=GANG))
    await world.until("it is ready", lambda: clusters.is_settled(world, "a"))
    (group,) = world.objects(WORKLOAD_PODGROUP)
    held = {"metadata": {"finalizers": ["scheduling.k8s.io/podgroup-protection"]}}
    world.patch(WORKLOAD_PODGROUP, group["metadata"]["name"], held)
    clusters.resize(world, "a", replicas=2)
    await world.until("it has grown", lambda: clusters.is_settled(world, "a"))
    await world.until("its gang is another", lambda: _is_another(world, group))


async def on_openshift(world: World) -> None:
    """A cluster with a Route in an Ingress' place."""
    clusters.install(world, ROUTE)
    clusters.begin(world, rules=Rules(ray=RaySettings(openshift=True)))
    world.create(RAYCLUSTER, manifests.cluster(manifests.head(enableIngress=True), name="a"))
    await world.until("it has a Route", lambda: world.objects(ROUTE))


async def with_volcano(world: World) -> None:
    """A job whose pods Volcano places together, suspended and resumed."""
    clusters.install(world, VOLCANO_PODGROUP)
    scene = jobs.Scene(world, settings=JobSettings(ray=RaySettings(batch_scheduler="volcano")))
    scene.make(entrypoint=jobs.LASTS, shutdownAfterJobFinishes=True)
    await scene.reach("Running")
    scene.change(suspend=True)
    await scene.reach("Suspended")


async def with_orphans(world: World) -> None:
    """What a cluster leaves behind that is deleted without its children."""
    test_janitor_orphans.start(world)
    for kind in (POD, SERVICE):
        test_janitor_orphans.child(world, kind, f"left-{kind.name}", None, "gone")
    await world.until("they are told", lambda: len(test_janitor_orphans.told(world)) == 2, limit_seconds=150)


CASES: list[tuple[When, str, Scenario]] = [
    ("networkPolicy", "cluster-reconciler", test_cluster_children.shut_off),
    ("mtls", "cluster-reconciler", test_cluster_children.encrypted),
    ("volcano", "cluster-reconciler", test_cluster_children.in_a_gang),
    ("volcano", "job-reconciler", with_volcano),
    ("schedulerPlugins", "cluster-reconciler", with_plugins),
    ("workloads", "cluster-reconciler", with_workloads),
    ("openshift", "cluster-reconciler", on_openshift),
    ("orphans", "janitor", with_orphans),
]


@pytest.fixture
def uses(monkeypatch: pytest.MonkeyPatch) -> set[Use]:
    """What services ask of the API server."""
    found: set[Use] = set()
    carry = Line.carry

    async def noted(self: Line, call: Call, act: Any) -> Any:
        seat = self._caller.name.rpartition("-")[0]
        resource = f"{call.kind.plural}/{call.subresource}" if call.subresource else call.kind.plural
        if seat in SEATS and call.verb != "line" and call.kind is not NAMESPACE:  # by which the world tells the time
            found.add((SEATS[seat], VERBS.get(call.verb, call.verb), call.kind.group, resource))
        return await carry(self, call, act)

    monkeypatch.setattr(Line, "carry", noted)
    return found


@pytest.mark.parametrize(("when", "service", "scenario"), CASES, ids=[f"{one[1]} with {one[0]}" for one in CASES])
def test_a_feature_needs_its_rights_and_no_other(when: When, service: str, scenario: Scenario, uses: set[Use]) -> None:
    simulate(scenario)
    assert uses - _granted("always", when) == set(), "rights that are missing"
    needed = {use for use in _granted(when, shown=True) if use[0] == service}
    assert needed
    assert needed - uses == set(), "rights that nobody needed"


def test_every_condition_of_a_right_is_tried_somewhere() -> None:
    tried = {case[0] for case in CASES} | set(PLAYED)
    assert set(get_args(When)) - tried == ELSEWHERE


def _granted(*when: str, shown: bool = False) -> set[Use]:
    """What services may do under these conditions; `shown` leaves out what no call shows."""
    return {
        (rights.service, verb, one.kind.group, one.resource)
        for rights in all_rights()
        for one in rights.kubernetes
        if one.when in when and not (shown and one.why)
        for verb in one.verbs
    }


def _is_another(world: World, before: Any) -> bool:
    found = world.objects(WORKLOAD_PODGROUP)
    return bool(found) and found[0]["metadata"]["uid"] != before["metadata"]["uid"]
