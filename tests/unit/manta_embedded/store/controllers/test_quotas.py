"""Quotas say what is used, and refuse what would be too much."""

from typing import Any

import pytest

from manta_common.kinds import CONFIGMAP, PVC, SERVICE
from manta_common.kinds import POD as PODS
from manta_embedded.store.builtin import RESOURCEQUOTA
from manta_embedded.store.errors import StatusError
from manta_embedded.store.objects import Obj
from tests.unit.manta_embedded.store.controllers.small_world import SmallWorld, configmap


@pytest.fixture
def world() -> SmallWorld:
    return SmallWorld()


def limit(world: SmallWorld, spec: Obj | None = None, **hard: str) -> None:
    named = {name.replace("__", "/").replace("_", "."): amount for name, amount in hard.items()}
    world.create(RESOURCEQUOTA, {"metadata": {"name": "q"}, "spec": {"hard": named, **(spec or {})}})


def used(world: SmallWorld) -> dict[str, str]:
    found: dict[str, str] = world.get(RESOURCEQUOTA, "q")["status"]["used"]
    return found


def pod(name: str, requests: Obj | None = None, limits: Obj | None = None, **spec: Any) -> Obj:
    resources = {**({"requests": requests} if requests else {}), **({"limits": limits} if limits else {})}
    container = {"name": "main", "image": "a", "resources": resources}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def test_a_pod_too_many_is_refused_with_the_numbers(world: SmallWorld) -> None:
    limit(world, pods="1")
    world.create(PODS, pod("one"))
    with pytest.raises(StatusError) as refused:
        world.create(PODS, pod("two"))
    assert (refused.value.code, refused.value.message) == (
        403,
        'pods "two" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
    )


def test_amounts_are_added_and_shown_in_their_own_form(world: SmallWorld) -> None:
    limit(world, requests_cpu="1", requests_memory="1Gi")
    world.create(PODS, pod("one", {"cpu": "600m", "memory": "512Mi"}))
    assert used(world) == {"requests.cpu": "600m", "requests.memory": "512Mi"}
    with pytest.raises(StatusError) as refused:
        world.create(PODS, pod("two", {"cpu": "0.5", "memory": "768Mi"}))
    assert refused.value.message.endswith(
        "exceeded quota: q, requested: requests.cpu=500m,requests.memory=768Mi, "
        "used: requests.cpu=600m,requests.memory=512Mi, limited: requests.cpu=1,requests.memory=1Gi"
    )


def test_a_pod_must_say_what_is_limited(world: SmallWorld) -> None:
    limit(world, limits_cpu="1", requests_memory="1Gi")
    with pytest.raises(StatusError) as refused:
        world.create(PODS, pod("one"))
    assert refused.value.message == (
        'pods "one" is forbidden: failed quota: q: must specify limits.cpu for: main; requests.memory for: main'
    )


def test_a_limit_stands_for_a_request_that_is_missing(world: SmallWorld) -> None:
    limit(world, requests_cpu="1")
    world.create(PODS, pod("one", limits={"cpu": "1"}))
    assert used(world) == {"requests.cpu": "1"}


def test_pods_that_have_ended_count_no_more(world: SmallWorld) -> None:
    limit(world, pods="1", count__pods="2")
    world.create(PODS, pod("one"))
    world.end_pod("one", "Succeeded")
    assert used(world) == {"pods": "0", "count/pods": "1"}
    world.create(PODS, pod("two"))
    with pytest.raises(StatusError, match=r"requested: count/pods=1,pods=1, used: count/pods=2,pods=1"):
        world.create(PODS, pod("three"))


def test_what_is_deleted_is_free_again(world: SmallWorld) -> None:
    limit(world, configmaps="1")
    world.create(CONFIGMAP, configmap("one"))
    with pytest.raises(StatusError, match="exceeded quota: q, requested: configmaps=1"):
        world.create(CONFIGMAP, configmap("two"))
    world.delete(CONFIGMAP, "one")
    world.create(CONFIGMAP, configmap("two"))
    assert used(world) == {"configmaps": "1"}


def test_services_count_by_their_type_when_they_are_created_and_when_it_changes(world: SmallWorld) -> None:
    limit(world, services_nodeports="1")
    port = {"port": 80}
    world.create(SERVICE, {"metadata": {"name": "s"}, "spec": {"type": "ClusterIP", "ports": [port]}})
    world.merge(SERVICE, "s", spec={"type": "NodePort"})
    assert used(world) == {"services.nodeports": "1"}
    with pytest.raises(StatusError, match=r"requested: services.nodeports=1, used: services.nodeports=1"):
        world.create(SERVICE, {"metadata": {"name": "t"}, "spec": {"type": "NodePort", "ports": [port]}})


def test_claims_count_by_the_storage_they_ask_for(world: SmallWorld) -> None:
    limit(world, requests_storage="2Gi", persistentvolumeclaims="5")
    asked = {"resources": {"requests": {"storage": "1536Mi"}}}
    world.create(PVC, {"metadata": {"name": "c"}, "spec": asked})
    assert used(world) == {"requests.storage": "1536Mi", "persistentvolumeclaims": "1"}
    with pytest.raises(
        StatusError, match=r"requests.storage=1536Mi, used: requests.storage=1536Mi, limited: requests."
    ):
        world.create(PVC, {"metadata": {"name": "d"}, "spec": asked})


def test_a_scope_leaves_other_pods_out(world: SmallWorld) -> None:
    limit(world, {"scopes": ["Terminating"]}, pods="0")
    world.create(PODS, pod("long"))
    with pytest.raises(StatusError, match="exceeded quota"):
        world.create(PODS, pod("short", activeDeadlineSeconds=5))


def test_a_quota_whose_use_is_not_yet_known_lets_nothing_pass(world: SmallWorld) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "5"}}}
    world.store.create(RESOURCEQUOTA, "space", body)
    with pytest.raises(StatusError, match="status unknown for quota: q, resources: pods"):
        world.store.create(PODS, "space", pod("early"))
    world.controllers.settle()
    world.create(PODS, pod("late"))
