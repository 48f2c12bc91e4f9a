"""The janitor's own clean-up of Redis: a cluster's keys go, nobody else's, and what fails says why."""

import base64
import pathlib
import random
import ssl
from collections.abc import Iterator

import msgspec
import pytest
import redis as client
import trustme

from manta_common.api.raycluster import RayCluster
from manta_common.clock import SystemClock
from manta_common.errors import Refused, Unreachable
from manta_common.kinds import NAMESPACE, SECRET
from manta_common.kube.settings import KubeSettings
from manta_common.ray.settings import RaySettings
from manta_embedded.store.kube import EmbeddedKube
from manta_embedded.store.store import Store
from manta_janitor.redis_keys import RedisCleaner, RedisPlace, key_prefix, remove_keys
from tests.examples import manifests
from tests.examples.example import Json
from tests.integration.clusters import MANTA, Clusters, running
from tests.parts.control_plane import ControlPlane
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until
from tests.parts.ray import LocalRay
from tests.parts.redis import Redis
from tests.parts.relay import Relay

FINALIZER = "ray.io/gcs-ft-redis-cleanup-finalizer"
PASSWORD = "sesame"


@pytest.fixture
def keys(own_redis: Redis) -> Iterator["client.Redis"]:
    with client.Redis.from_url(own_redis.url) as connection:
        yield connection


def place(redis: Redis, password: str | None = PASSWORD) -> RedisPlace:
    host, port = redis.address
    return RedisPlace(host=host, port=port, password=password)


def address(redis: Redis) -> str:
    return "{}:{}".format(*redis.address)


def left(keys: "client.Redis") -> set[str]:
    return {key.decode() for key in keys.scan_iter()}


async def test_a_namespaces_keys_go_and_its_neighbours_stay(own_redis: Redis, keys: "client.Redis") -> None:
    for table in range(1200):
        keys.hset(f"RAYteam-a@{table}", "key", "value")
    neighbours = {"RAYteam-ab@ACTOR", "RAYteam-@ACTOR", "RAYteam-b@ACTOR", "team-a", "team-a@ACTOR", "RAYteam-a"}
    for name in neighbours:
        keys.set(name, "kept")
    assert await remove_keys(place(own_redis), key_prefix("team-a")) == 1200
    assert left(keys) == neighbours


async def test_signs_of_patterns_in_a_namespace_mean_themselves(own_redis: Redis, keys: "client.Redis") -> None:
    for name in ("RAY*@x", "RAYa@x", "RAY[ab]@x", "RAYb@x", "RAY?@x", "RAY\\@x"):
        keys.set(name, "value")
    for namespace in ("*", "[ab]", "?", "\\"):
        assert await remove_keys(place(own_redis), key_prefix(namespace)) == 1
    assert left(keys) == {"RAYa@x", "RAYb@x"}


async def test_what_is_half_deleted_is_deleted(own_redis: Redis, keys: "client.Redis") -> None:
    keys.set("RAYa@NODE", "value")
    keys.set("RAYa@JOB", "value")
    keys.delete("RAYa@JOB")
    assert await remove_keys(place(own_redis), key_prefix("a")) == 1
    assert await remove_keys(place(own_redis), key_prefix("a")) == 0


async def test_a_wrong_password_is_told_but_not_shown(own_redis: Redis) -> None:
    with pytest.raises(Unreachable, match="invalid username-password pair") as error:
        await remove_keys(place(own_redis, "open-barley"), key_prefix("a"))
    assert "barley" not in str(error.value)


async def test_a_redis_that_is_down_is_told(own_redis: Redis) -> None:
    own_redis.kill()
    with pytest.raises(Unreachable, match=address(own_redis)):
        await remove_keys(place(own_redis), key_prefix("a"))


def cluster(at: str, password: Json) -> RayCluster:
    options = {"redisAddress": at, "externalStorageNamespace": "a", "redisPassword": password}
    body = manifests.cluster({"gcsFaultToleranceOptions": options}, name="a", namespace="team")
    return msgspec.json.decode(msgspec.json.encode(body), type=RayCluster)


SECRET_REF: Json = {"valueFrom": {"secretKeyRef": {"name": "redis", "key": "password"}}}


async def test_the_password_comes_from_where_the_head_has_it(own_redis: Redis, keys: "client.Redis") -> None:
    store = Store(SystemClock(), random.Random())
    store.create(NAMESPACE, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    cleaner = RedisCleaner(EmbeddedKube(store, KubeSettings()), RaySettings())
    keys.set("RAYa@NODE", "value")
    with pytest.raises(Refused, match="Secret team/redis has no key password: create it"):
        await cleaner.clean(cluster(address(own_redis), SECRET_REF))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "redis"}}
    secret["data"] = {"password": base64.b64encode(PASSWORD.encode()).decode()}
    store.create(SECRET, "team", secret)
    assert await cleaner.clean(cluster(address(own_redis), SECRET_REF)) == 1
    keys.set("RAYa@NODE", "value")
    assert await cleaner.clean(cluster(address(own_redis), {"value": PASSWORD})) == 1


class Certified:
    """A CA, its file, and what a server shows."""

    def __init__(self, folder: pathlib.Path) -> None:
        ca = trustme.CA()
        self.file = folder / "ca.pem"
        ca.cert_pem.write_to_path(str(self.file))
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert("127.0.0.1").configure_cert(self.server)


async def test_over_tls_with_a_password_the_keys_go(
    own_redis: Redis, keys: "client.Redis", tmp_path: pathlib.Path
) -> None:
    certified = Certified(tmp_path)
    keys.set("RAYa@NODE", "value")
    keys.set("RAYb@NODE", "value")
    async with Relay.to(*own_redis.address, tls=certified.server) as relay:
        cleaner = RedisCleaner(no_kube(), RaySettings(), str(certified.file))
        assert await cleaner.clean(cluster(f"rediss://127.0.0.1:{relay.port}", {"value": PASSWORD})) == 1
        assert left(keys) == {"RAYb@NODE"}
        with pytest.raises(Unreachable, match="invalid username-password pair"):
            await cleaner.clean(cluster(f"rediss://127.0.0.1:{relay.port}", {"value": "open-barley"}))


async def test_a_certificate_of_another_ca_is_refused(own_redis: Redis, tmp_path: pathlib.Path) -> None:
    certified = Certified(tmp_path)
    async with Relay.to(*own_redis.address, tls=certified.server) as relay:
        for ca_file in ("", str(trustme_other(tmp_path))):
            cleaner = RedisCleaner(no_kube(), RaySettings(), ca_file)
            with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
                await cleaner.clean(cluster(f"rediss://127.0.0.1:{relay.port}", {"value": PASSWORD}))


async def test_a_ca_file_that_is_missing_is_told(own_redis: Redis) -> None:
    cleaner = RedisCleaner(no_kube(), RaySettings(), "/none/ca.pem")
    with pytest.raises(Unreachable, match=r"/none/ca\.pem"):
        await cleaner.clean(cluster(f"rediss://{address(own_redis)}", {"value": PASSWORD}))


async def test_without_tls_a_redis_that_wants_it_is_not_reached(own_redis: Redis, tmp_path: pathlib.Path) -> None:
    async with Relay.to(*own_redis.address, tls=Certified(tmp_path).server) as relay:
        with pytest.raises(Unreachable, match=f"127.0.0.1:{relay.port}"):
            await RedisCleaner(no_kube(), RaySettings()).clean(cluster(f"127.0.0.1:{relay.port}", {"value": PASSWORD}))


def trustme_other(folder: pathlib.Path) -> pathlib.Path:
    """The file of a CA that nobody uses."""
    file = folder / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    return file


def no_kube() -> EmbeddedKube:
    """An API server without any object."""
    return EmbeddedKube(Store(SystemClock(), random.Random()), KubeSettings())


@pytest.fixture
def clusters(control_plane: ControlPlane, ray_crds: None, namespace: str, tmp_path: pathlib.Path) -> Iterator[Clusters]:
    with running(janitor(control_plane, namespace, tmp_path)):
        yield Clusters(control_plane, namespace)


async def test_the_state_of_a_real_ray_is_removed(redis: Redis, parts_folder: pathlib.Path) -> None:
    """A real Ray keeps its state in Redis; a neighbour has the same in its own namespace."""
    with client.Redis.from_url(redis.url) as keys:
        fill(redis, parts_folder, "a")
        real = tables(keys, "a")
        assert real
        for key in real:
            keys.copy(key, key.replace(b"RAYa@", b"RAYneighbour@"), replace=True)
        assert await RedisCleaner(no_kube(), RaySettings()).clean(cluster(address(redis), {})) >= len(real)
        assert not tables(keys, "a")
        neighbours = tables(keys, "neighbour")
        assert neighbours == {key.replace(b"RAYa@", b"RAYneighbour@") for key in real}
        keys.delete(*neighbours)


def test_the_keys_of_a_deleted_cluster_go(redis: Redis, clusters: Clusters) -> None:
    mine, other = f"a-{clusters.namespace}", f"b-{clusters.namespace}"
    with client.Redis.from_url(redis.url) as keys:
        for storage in (mine, other):
            keys.set(f"RAY{storage}@NODE", "value", ex=600)
        make(clusters, redis, mine)
        clusters.delete("rayclusters", "a")
        clusters.until("the cluster is gone", lambda: clusters.find("rayclusters", "a") is None)
        assert not tables(keys, mine)
        assert tables(keys, other)
    clusters.until("it is told", lambda: clusters.events("CleanedUpRedis"))


def test_with_redis_down_the_cluster_goes_at_its_deadline(own_redis: Redis, clusters: Clusters) -> None:
    own_redis.kill()
    make(clusters, own_redis, "a", **{"ray.io/gcs-ft-deletion-timeout": "15"})
    clusters.delete("rayclusters", "a")
    clusters.until("the failure is told", lambda: clusters.events("FailedToCleanUpRedis"))
    assert clusters.find("rayclusters", "a") is not None
    clusters.until("the cluster is gone", lambda: clusters.find("rayclusters", "a") is None, limit_seconds=40)
    clusters.until("it is told", lambda: clusters.events("ForceDeletedStuckCluster"))


def janitor(control_plane: ControlPlane, namespace: str, folder: pathlib.Path) -> Process:
    """Watcher and janitor, which cleans up itself."""
    command = [MANTA, "up", "--kubeconfig", str(control_plane.kubeconfig), "--watch-namespaces", namespace]
    environment = {"MANTA_JANITOR_REDIS_CLEANUP_BY": "janitor"}
    http = ["--http", f"127.0.0.1:{free_port()}"]
    return Process("manta up", [*command, *http], folder / "manta.log", environment=environment)


def make(clusters: Clusters, redis: Redis, storage: str, **marks: str) -> None:
    """A RayCluster that keeps its state in Redis, ready to be deleted."""
    options = {"redisAddress": address(redis), "externalStorageNamespace": storage}
    clusters.create("a", {"gcsFaultToleranceOptions": options} | manifests.workers(), annotations=marks)
    clusters.until(
        "it has its finalizer",
        lambda: FINALIZER in (clusters.find("rayclusters", "a") or {})["metadata"].get("finalizers", ()),
    )


def fill(redis: Redis, folder: pathlib.Path, storage: str) -> None:
    """Let a real Ray keep state of its own in Redis, and end."""
    variables = {"RAY_REDIS_ADDRESS": address(redis), "RAY_external_storage_namespace": storage}
    variables["RAY_raylet_start_wait_time_s"] = "110"  # with a state to read back it takes longer
    ray = LocalRay.start(folder, further=variables)
    try:
        with client.Redis.from_url(redis.url) as keys:
            wait_until("Ray has written", lambda: bool(tables(keys, storage)), limit_seconds=30)
    finally:
        ray.stop()


def tables(keys: "client.Redis", storage: str) -> set[bytes]:
    """The keys of a storage namespace."""
    return set(keys.scan_iter(match=f"RAY{storage}@*"))
