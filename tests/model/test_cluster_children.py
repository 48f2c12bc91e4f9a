"""Children of RayClusters that no feed shows, and those of other projects, in virtual time."""

import functools
from typing import Any

from manta_cluster_reconciler.rules import Rules
from manta_common.api.gates import Gates
from manta_common.keys import Key
from manta_common.kinds import (
    CERTIFICATE,
    EVENT,
    INGRESS,
    ISSUER,
    NETWORKPOLICY,
    RAYCLUSTER,
    ROLE,
    ROLEBINDING,
    SECRET,
    SERVICE,
    SERVICEACCOUNT,
    VOLCANO_PODGROUP,
)
from manta_common.kube.protocol import MergePatch
from manta_common.ray.settings import RaySettings
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.world import World
from manta_embedded.store.objects import Obj
from tests.examples import manifests
from tests.examples.example import Json
from tests.model.clusters import begin, change, install, is_settled, pods, resize

NOTHING_SECRET = {"tls.crt": "", "tls.key": "", "ca.crt": ""}


def make(world: World, patch: Json, **metadata: Any) -> None:
    world.create(RAYCLUSTER, manifests.cluster(patch, name="a", **metadata))


async def until_settled(world: World) -> None:
    await world.until("it is ready", lambda: is_settled(world, "a"), limit_seconds=120)


def reasons(world: World) -> set[str]:
    return {event["reason"] for event in world.objects(EVENT)}


async def autoscaled(world: World) -> None:
    """The autoscaler's account, role and binding are made, and made again when somebody deletes one."""
    begin(world)
    make(world, {"enableInTreeAutoscaling": True})
    await until_settled(world)
    assert all(world.find(kind, "a") for kind in (SERVICEACCOUNT, ROLE, ROLEBINDING))
    assert reasons(world) >= {"CreatedServiceAccount", "CreatedRole", "CreatedRoleBinding"}
    world.delete(ROLE, "a")
    await world.until("the role is there again", lambda: world.find(ROLE, "a"), limit_seconds=700)


def test_the_autoscalers_rights_are_kept() -> None:
    simulate(autoscaled)


async def with_an_account_of_ones_own(world: World) -> None:
    """Nothing is made before the account that the user names is there; then all is."""
    begin(world)
    pod = {"serviceAccountName": "mine", "containers": [manifests.HEAD]}
    make(world, manifests.both({"enableInTreeAutoscaling": True}, manifests.head(template={"spec": pod})))
    await world.until("it is told", lambda: "AutoscalerServiceAccountNotFound" in reasons(world), limit_seconds=30)
    assert pods(world, "a") == []
    world.create(SERVICEACCOUNT, {"metadata": {"name": "mine"}})
    await until_settled(world)


def test_an_account_that_comes_late_is_noticed() -> None:
    simulate(with_an_account_of_ones_own)


async def with_an_ingress(world: World) -> None:
    """An Ingress follows its cluster's annotations; somebody else's is left alone."""
    begin(world)
    make(world, manifests.head(enableIngress=True), annotations={"team": "a"})
    await until_settled(world)
    world.patch(RAYCLUSTER, "a", {"metadata": {"annotations": {"team": "b"}}, "spec": {"rayVersion": "2.57.0"}})
    await world.until("the Ingress follows", lambda: team(world) == "b", limit_seconds=30)
    await world.until("it is told", lambda: "UpdatedIngress" in reasons(world), limit_seconds=20)


def team(world: World) -> str:
    found = world.find(INGRESS, "a-head-ingress") or {}
    return str(found["metadata"].get("annotations", {}).get("team"))


def test_an_ingress_follows_its_cluster() -> None:
    simulate(with_an_ingress)


async def asked_for_later(world: World) -> None:
    """A Service is asked for by an annotation, which is no change of the spec."""
    begin(world)
    make(world, {})
    await until_settled(world)
    world.patch(RAYCLUSTER, "a", {"metadata": {"annotations": {"ray.io/enable-serve-service": "true"}}})
    await world.until("the Service is there", lambda: world.find(SERVICE, "a-serve-svc"), limit_seconds=10)


def test_what_an_annotation_asks_for_is_made_at_once() -> None:
    simulate(asked_for_later)


async def with_a_token(world: World) -> None:
    """The token is drawn once."""
    begin(world)
    make(world, {"authOptions": {"mode": "token"}})
    await until_settled(world)
    before = world.find(SECRET, "a")
    assert before is not None
    assert set(before["data"]) == {"auth_token"}
    world.service("clusters-1").crash()
    resize(world, "a", replicas=2)
    await world.until("it has grown", lambda: is_settled(world, "a"), limit_seconds=60)
    assert world.find(SECRET, "a") == before


def test_a_token_is_drawn_once() -> None:
    simulate(with_a_token)


async def shut_off(world: World) -> None:
    """Network policies come and go with the spec."""
    begin(world, rules=Rules(ray=RaySettings(gates=Gates(network_policy=True))))
    make(world, {"networkPolicy": {"mode": "DenyAll"}})
    await until_settled(world)
    assert [one["metadata"]["name"] for one in world.objects(NETWORKPOLICY)] == ["a-head", "a-workers-small"]
    change(world, "a", networkPolicy={"mode": "DenyAllIngress"})
    await world.until("they follow", lambda: policy_types(world) == [["Ingress"], ["Ingress"]], limit_seconds=30)
    change(world, "a", networkPolicy=None)
    await world.until("they are gone", lambda: not world.objects(NETWORKPOLICY), limit_seconds=30)
    told = {"CreatedNetworkPolicy", "UpdatedNetworkPolicy", "DeletedNetworkPolicy"}
    await world.until("it is told", lambda: reasons(world) >= told, limit_seconds=20)


def policy_types(world: World) -> list[list[str]]:
    return [one["spec"]["policyTypes"] for one in world.objects(NETWORKPOLICY)]


def test_network_policies_come_and_go_with_the_spec() -> None:
    simulate(shut_off)


async def encrypted(world: World) -> None:
    """Pods wait for their certificates, which then follow the addresses of the pods."""
    install(world, ISSUER, CERTIFICATE)
    begin(world, rules=Rules(ray=RaySettings(gates=Gates(mtls=True), cert_manager=True)))
    make(world, {"tlsOptions": {"enabled": True}})
    await world.until("certificates are asked for", lambda: len(world.objects(CERTIFICATE)) == 3, limit_seconds=30)
    await world.sleep(10)
    assert pods(world, "a") == []
    for node in ("head", "worker"):
        issue(world, node)
    await world.until("there are pods", lambda: len(pods(world, "a")) == 2, limit_seconds=120)
    await world.until("the head's address is certified", lambda: len(addresses(world, "head")) == 2, limit_seconds=120)
    secret = world.find(SECRET, "ray-head-secret-a")
    assert secret is not None
    assert [owner["kind"] for owner in secret["metadata"]["ownerReferences"]] == ["Certificate"]
    await world.until("it is told", lambda: "MTLSCertificatesUpdated" in reasons(world), limit_seconds=20)


def issue(world: World, node: str) -> None:
    """Do what cert-manager does."""
    certificate = world.find(CERTIFICATE, f"ray-{node}-cert-a")
    assert certificate is not None
    world.create(SECRET, {"metadata": {"name": f"ray-{node}-secret-a"}, "data": NOTHING_SECRET})
    generation = certificate["metadata"].get("generation", 0)
    ready = {"type": "Ready", "status": "True", "observedGeneration": generation}
    write_status(world, certificate, {"conditions": [ready], "notAfter": "2030-01-01T00:00:00Z"})


def write_status(world: World, certificate: Obj, status: Json) -> None:
    key = Key("default", certificate["metadata"]["name"])
    world.store.patch(CERTIFICATE, key, MergePatch({"status": status}), subresource="status")


def addresses(world: World, node: str) -> list[str]:
    found = world.find(CERTIFICATE, f"ray-{node}-cert-a") or {}
    listed: list[str] = found["spec"]["ipAddresses"]
    return listed


def test_pods_wait_for_their_certificates() -> None:
    simulate(encrypted)


async def without_its_services(world: World) -> None:
    """Every Service of a cluster is made again as soon as somebody deletes it, and none after the cluster's end."""
    begin(world)
    make(world, manifests.worker(numOfHosts=2), annotations={"ray.io/enable-serve-service": "true"})
    await until_settled(world)
    for name in ("a-head-svc", "a-serve-svc", "a-headless"):
        world.delete(SERVICE, name)
        await world.until(f"{name} is there again", functools.partial(world.find, SERVICE, name), limit_seconds=3)
    world.delete(RAYCLUSTER, "a")
    await world.sleep(30)
    assert [one["metadata"]["name"] for one in world.objects(SERVICE)] == ["kubernetes"]


def test_services_that_are_deleted_come_back_at_once() -> None:
    simulate(without_its_services)


async def warned_of(world: World) -> None:
    """What is only warned of is told also of a cluster that gets its finalizer first."""
    begin(world)
    restarts = {"template": {"spec": {"restartPolicy": "Always", "containers": [manifests.WORKER]}}}
    scaled = {"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v1"}}
    make(world, manifests.worker(**restarts) | scaled | {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}})
    await until_settled(world)
    await world.until("it is told", lambda: "InvalidRayClusterSpec" in reasons(world), limit_seconds=5)


def test_a_cluster_with_a_finalizer_is_warned_of_too() -> None:
    simulate(warned_of)


async def in_a_gang(world: World) -> None:
    """Volcano's PodGroup is there before the pods and follows the size of the cluster."""
    install(world, VOLCANO_PODGROUP)
    begin(world, rules=Rules(ray=RaySettings(batch_scheduler="volcano")))
    make(world, manifests.worker(replicas=2))
    await until_settled(world)
    assert members(world) == 3
    assert all(pod["spec"]["schedulerName"] == "volcano" for pod in pods(world, "a"))
    resize(world, "a", replicas=4)
    await world.until("the PodGroup follows", lambda: members(world) == 5, limit_seconds=30)
    await until_settled(world)


def members(world: World) -> int:
    return int((world.find(VOLCANO_PODGROUP, "ray-a-pg") or {})["spec"]["minMember"])


def test_a_pod_group_follows_the_size_of_its_cluster() -> None:
    simulate(in_a_gang)
