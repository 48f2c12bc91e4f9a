"""Incremental upgrades with the published Gateway API on a real API server: requests go where the routes say."""

import functools
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from manta_common.keys import Key
from tests.examples import manifests
from tests.integration.service_world import Load, ServiceWorld
from tests.parts import crds
from tests.parts.control_plane import ControlPlane
from tests.parts.stub_serves import StubServes
from tests.parts.weighted_proxy import CLASS, WeightedProxy

NAME = "s"
STEP = 25
ENOUGH = 20  # requests by which a share can be told
SLOW_SECONDS = 8  # between two steps, so that one can be seen and called off on a slow machine too
OPTIONS = {"maxSurgePercent": 50, "stepSizePercent": STEP, "intervalSeconds": 2, "gatewayClassName": CLASS}
CLUSTER = manifests.CLUSTER | {
    "enableInTreeAutoscaling": True,
    "workerGroupSpecs": [manifests.GROUP | {"minReplicas": 1}],
}


class Roads:
    """RayServices whose requests come in by a Gateway."""

    def __init__(self, services: ServiceWorld, proxy: WeightedProxy) -> None:
        self.services, self.proxy = services, proxy

    def settled(self) -> str:
        """Wait until one cluster serves and gets all traffic, by the data plane too; its name."""
        self.services.until("all traffic goes to the one that serves", self._is_settled)
        active = self.services.active(NAME)
        self.services.until("the data plane knows", lambda: self.proxy.reached == {f"{active}-serve-svc"})
        return active

    def upgrade(self, version: str, *, every_seconds: Any) -> None:
        """Ask for another cluster, and for a pace at which traffic goes over."""
        pace = {"clusterUpgradeOptions": {"intervalSeconds": every_seconds}}
        self.services.change(NAME, rayClusterConfig={"rayVersion": version}, upgradeStrategy=pace)

    def version(self) -> str:
        """The version of Ray that is asked for."""
        return str((self.services.find("rayservices", NAME) or {})["spec"]["rayClusterConfig"]["rayVersion"])

    def reach_half(self) -> None:
        """Wait until half of the traffic has gone over."""
        self.services.until("half has moved", lambda: set(self.services.weights(NAME).values()) == {50})

    def _is_settled(self) -> bool:
        busy = any(self.services.holds(NAME, kind) for kind in ("UpgradeInProgress", "RollbackInProgress"))
        return not busy and self.services.weights(NAME) == {self.services.active(NAME): 100}


@pytest.fixture(scope="module")
def roads(control_plane: ControlPlane, ray_crds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roads]:
    crds.install_gateway_api(control_plane)
    folder: pathlib.Path = tmp_path_factory.mktemp("roads")
    serves = StubServes.start()
    with control_plane.fresh_namespace("roads") as namespace:
        services = ServiceWorld(control_plane, namespace, serves.address, folder)
        proxy = WeightedProxy(control_plane, Key(namespace, f"{NAME}-gateway"), serves.address)
        proxy.start()
        yield Roads(services, proxy)
        proxy.stop()
        services.end()
    serves.stop()


@pytest.fixture
def served(roads: Roads) -> str:
    """The cluster that serves when a test begins."""
    if roads.services.find("rayservices", NAME) is None:
        strategy = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": OPTIONS}
        roads.services.make(NAME, rayClusterConfig=CLUSTER, upgradeStrategy=strategy, rayClusterDeletionDelaySeconds=1)
    return roads.settled()


def test_requests_go_over_step_by_step_and_none_is_lost(roads: Roads, served: str) -> None:
    with Load(roads.proxy.url) as load:
        roads.services.until("requests are answered", lambda: load.answered > ENOUGH)
        roads.services.upgrade(NAME, "2.57.0")
        roads.services.until("an upgrade began", lambda: roads.services.active(NAME) != served)
        after = roads.settled()
        roads.services.until("requests reach the new one", lambda: load.last() == f"{after}-serve-svc")
        roads.services.until("the old cluster is gone", lambda: roads.services.find("rayclusters", served) is None)
    assert load.failures == []
    shares = _shares(load, f"{after}-serve-svc")
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 100)
    assert len(shares) > 2, "no request was divided between two clusters"


def test_a_spec_that_goes_back_brings_every_request_back(roads: Roads, served: str) -> None:
    with Load(roads.proxy.url) as load:
        before = roads.version()
        roads.upgrade("2.58.0", every_seconds=SLOW_SECONDS)
        roads.reach_half()
        roads.services.until("requests are divided", lambda: load.by_newest() > ENOUGH)
        coming = roads.services.pending(NAME)
        roads.upgrade(before, every_seconds=OPTIONS["intervalSeconds"])
        roads.services.until("it goes back", lambda: roads.services.holds(NAME, "RollbackInProgress"))
        assert roads.settled() == served
        roads.services.until("requests are back", lambda: load.last() == f"{served}-serve-svc")
        roads.services.until("the new cluster is gone", lambda: roads.services.find("rayclusters", coming) is None)
    assert load.failures == []
    assert max(_shares(load, f"{coming}-serve-svc")) == 50


def test_a_service_that_is_deleted_midway_leaves_no_road(roads: Roads, served: str) -> None:
    roads.services.upgrade(NAME, "2.59.0")
    roads.services.until("an upgrade began", lambda: len(roads.services.weights(NAME)) == 2)
    roads.services.delete(NAME)
    for plural in ("rayservices", "rayclusters", "gateways", "httproutes", "pods"):
        roads.services.until(f"no {plural} are left", functools.partial(_is_empty, roads.services, plural))


def _is_empty(services: ServiceWorld, plural: str) -> bool:
    return not services.names(plural)


def _shares(load: Load, service: str) -> list[int]:
    """What a Service got by each route, in percent, as far as it can be told: whole steps, to within two requests."""
    found: list[int] = []
    for generation in sorted(load.split):
        counts = load.split[generation]
        total = sum(counts.values())
        if total < ENOUGH:
            continue
        share = round(100 * counts[service] / total / STEP) * STEP
        assert abs(counts[service] - total * share / 100) <= 2, f"route {generation}: {counts}"
        found.append(share)
    return found
