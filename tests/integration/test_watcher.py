"""The stream becomes what a fresh list of the API server says, whatever happened in between."""

import asyncio
import pathlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from manta_common.bus.channel import Channel, State
from manta_common.bus.nats_bus import NatsBus, open_bus
from manta_common.bus.settings import BusSettings
from manta_common.keys import Key
from manta_common.kube.client import Client, connect
from manta_common.kube.settings import KubeSettings
from manta_common.partitions import PARTITIONS, partition_of
from manta_watcher.session import Session, Task
from manta_watcher.standing import StreamReplaced
from manta_watcher.tally import Tally
from manta_watcher.watched import WATCHED
from tests.parts.control_plane import ControlPlane
from tests.parts.eventually import eventually
from tests.parts.nats import Nats

CHANNELS: dict[str, Channel[Any]] = {watched.kind.name: Channel(watched.kind.name, watched.type) for watched in WATCHED}
Shown = dict[tuple[str, str, str], tuple[str, str]]  # kind, namespace, name -> uid, version


def cluster(name: str) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "ray", "image": "example/ray:1"}]}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": {"headGroupSpec": {"rayStartParams": {}, "template": template}},
    }


def pod(name: str, of: str, *, bytes_of_note: int = 0) -> dict[str, Any]:
    labels = {"ray.io/cluster": of, "ray.io/node-type": "worker"}
    return {
        "metadata": {"name": name, "labels": labels, "annotations": {"note": "x" * bytes_of_note}},
        "spec": {"containers": [{"name": "ray", "image": "example/ray:1"}]},
    }


class World:
    """A real API server, a real NATS, and a watcher that can be started and stopped."""

    def __init__(self, plane: ControlPlane, namespace: str, nats: Nats, kubeconfig: pathlib.Path) -> None:
        self.plane, self.namespace, self.nats, self.kubeconfig = plane, namespace, nats, kubeconfig
        self.tally = Tally()

    @asynccontextmanager
    async def bus(self) -> AsyncIterator[NatsBus]:
        async with open_bus(BusSettings(urls=(self.nats.url,))) as bus:
            yield bus

    @asynccontextmanager
    async def watcher(self) -> AsyncIterator[None]:
        """A watcher that begins a new reign whenever one ends."""
        async with self.bus() as bus, connect(KubeSettings(), kubeconfig=str(self.kubeconfig)) as kube:
            task = asyncio.create_task(self._reign(kube, bus))
            try:
                yield
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _reign(self, kube: Client, bus: NatsBus) -> None:
        while True:
            self.tally.sessions += 1
            self.tally.whole = False
            with suppress(ExceptionGroup, StreamReplaced):
                await Session(kube, bus, Task(namespaces=(self.namespace,)), self.tally).run()

    def create(self, kind: str, body: dict[str, Any]) -> None:
        path = {"pods": "api/v1", "services": "api/v1"}.get(kind, "apis/ray.io/v1")
        self.plane.request("POST", f"{path}/namespaces/{self.namespace}/{kind}", body)

    def delete(self, kind: str, name: str) -> None:
        path = {"pods": "api/v1", "services": "api/v1"}.get(kind, "apis/ray.io/v1")
        self.plane.request("DELETE", f"{path}/namespaces/{self.namespace}/{kind}/{name}?gracePeriodSeconds=0")

    def listed(self) -> Shown:
        """A fresh list of everything that is watched."""
        found: Shown = {}
        for watched in WATCHED:
            for labels in watched.labels:
                path = watched.kind.path(self.namespace)
                for item in self.plane.request("GET", f"{path}?labelSelector={labels}")["items"]:
                    meta = item["metadata"]
                    found[watched.kind.name, meta["namespace"], meta["name"]] = (meta["uid"], meta["resourceVersion"])
        return found

    async def shown(self) -> Shown:
        """What the stream says."""
        found = [(word, state) for word, _, state in await self._said()]
        return {(word, state.key.namespace, state.key.name): (state.uid, state.version) for word, state in found}

    async def partitions(self) -> dict[str, list[int]]:
        """In which partitions an object of a name stands: in one, when all is well."""
        found: dict[str, list[int]] = {}
        for _, partition, state in await self._said():
            found.setdefault(state.key.name, []).append(partition)
        return found

    async def _said(self) -> list[tuple[str, int, State[Any]]]:
        """Kind, partition and state of everything that is there by what the stream says."""
        found = []
        async with self.bus() as bus, bus.replay([c.filter() for c in CHANNELS.values()]) as batches:
            async for batch in batches:
                words = [(message.subject.split(".")[5], message) for message in batch.messages]
                read = [(word, *CHANNELS[word].read(message)) for word, message in words]
                found += [(word, spot.partition, state) for word, spot, state in read]
                if batch.caught_up:
                    break
        return [one for one in found if one[2].object is not None]

    def own(self, name: str, job: str | None) -> None:
        """Let a RayCluster belong to a RayJob, or to nobody."""
        where = f"apis/ray.io/v1/namespaces/{self.namespace}"
        owners = []
        if job:
            uid = self.plane.request("GET", f"{where}/rayjobs/{job}")["metadata"]["uid"]
            owners = [{"apiVersion": "ray.io/v1", "kind": "RayJob", "name": job, "uid": uid, "controller": True}]
        body = {"metadata": {"ownerReferences": owners}}
        self.plane.request("PATCH", f"{where}/rayclusters/{name}", body, "application/merge-patch+json")

    async def stands(self, where: dict[str, int]) -> None:
        """Wait until every object stands in its partition and nowhere else."""

        async def so() -> bool | None:
            return await self.partitions() == {name: [partition] for name, partition in where.items()} or None

        await eventually(f"the objects stand in {where}", so, limit_seconds=30)

    async def settled(self, *, limit_seconds: float = 30) -> Shown:
        """Wait until the stream says the same as a list."""

        async def same() -> Shown | None:
            listed = await asyncio.to_thread(self.listed)
            return listed if listed == await self.shown() else None

        return await eventually("the stream equals a list", same, limit_seconds=limit_seconds)


@pytest.fixture
def world(control_plane: ControlPlane, ray_crds: None, namespace: str, own_nats: Nats) -> World:
    return World(control_plane, namespace, own_nats, control_plane.kubeconfig)


def populate(world: World) -> None:
    for name in ("a", "b"):
        world.create("rayclusters", cluster(name))
        for number in range(3):
            world.create("pods", pod(f"{name}-{number}", name))
    service = {"metadata": {"name": "head", "labels": {"ray.io/node-type": "head", "ray.io/serve": "x"}}}
    world.create("services", service | {"spec": {"ports": [{"port": 80}], "clusterIP": "None"}})


async def test_what_is_there_and_what_comes_and_goes(world: World) -> None:
    populate(world)
    async with world.watcher():
        assert len(await world.settled()) == 9
        world.create("rayclusters", cluster("c"))
        world.create("pods", pod("c-0", "c"))
        world.delete("pods", "a-0")
        world.delete("rayclusters", "b")
        assert len(await world.settled()) >= 9


async def test_what_changed_while_the_watcher_was_away(world: World) -> None:
    populate(world)
    async with world.watcher():
        await world.settled()
    world.delete("pods", "a-1")
    world.delete("services", "head")
    world.create("pods", pod("a-9", "a"))
    async with world.watcher():
        shown = await world.settled()
    assert ("pod", world.namespace, "a-1") not in shown
    assert ("pod", world.namespace, "a-9") in shown


async def test_a_wiped_stream_is_filled_again(world: World) -> None:
    populate(world)
    async with world.watcher():
        await world.settled()
        await asyncio.to_thread(world.nats.wipe)
        await world.settled()
        world.create("pods", pod("after", "a"))
        assert ("pod", world.namespace, "after") in await world.settled()


async def test_a_restarted_nats_is_caught_up_with(world: World) -> None:
    populate(world)
    async with world.watcher():
        await world.settled()
        await asyncio.to_thread(world.nats.kill)
        world.create("pods", pod("during", "a"))
        await asyncio.to_thread(world.nats.restart)
        assert ("pod", world.namespace, "during") in await world.settled()


async def test_a_restarted_api_server_is_watched_again(world: World) -> None:
    populate(world)
    async with world.watcher():
        await world.settled()
        world.plane.kill_api_server()
        await asyncio.to_thread(world.plane.start_api_server)
        world.create("pods", pod("after", "a"))
        assert ("pod", world.namespace, "after") in await world.settled(limit_seconds=60)


async def test_a_dropped_watch_loses_nothing(world: World) -> None:
    world.kubeconfig = world.plane.proxy_kubeconfig
    populate(world)
    async with world.watcher():
        await world.settled()
        nine = "every scope is watched through the proxy"
        await eventually(nine, lambda: _true(lambda: world.plane.proxy.watches >= 9), limit_seconds=10)
        assert world.plane.proxy.drop_watches() >= 9
        world.create("pods", pod("after", "a"))
        assert ("pod", world.namespace, "after") in await world.settled()


async def test_an_object_of_almost_the_largest_size_passes(world: World) -> None:
    world.create("rayclusters", cluster("a") | {"metadata": {"name": "a", "annotations": {"n": "x" * 200_000}}})
    big = cluster("big")
    container = big["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": f"V{number}", "value": "y" * 1000} for number in range(1300)]
    world.create("rayclusters", big)
    async with world.watcher():
        assert len(await world.settled()) == 2


async def test_a_pod_that_comes_before_its_cluster_is_published_after_it(world: World) -> None:
    async with world.watcher():
        await world.settled()
        world.create("pods", pod("early", "late"))
        await eventually("the pod was seen", lambda: _true(lambda: world.tally.changes > 0), limit_seconds=10)
        assert await world.shown() == {}
        world.create("rayclusters", cluster("late"))
        assert len(await world.settled()) == 2


async def test_a_cluster_that_is_adopted_and_let_go_moves_with_its_pods(world: World) -> None:
    home = partition_of(Key(world.namespace, "c"), PARTITIONS)
    names = (f"job-{number}" for number in range(100))
    job = next(name for name in names if partition_of(Key(world.namespace, name), PARTITIONS) != home)
    away = partition_of(Key(world.namespace, job), PARTITIONS)
    world.create("rayclusters", cluster("c"))
    world.create("pods", pod("c-0", "c"))
    world.create("rayjobs", {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": job}, "spec": {}})
    async with world.watcher():
        await world.stands({"c": home, "c-0": home, job: away})
        world.own("c", job)
        await world.stands({"c": away, "c-0": away, job: away})
        world.own("c", None)
        await world.stands({"c": home, "c-0": home, job: away})
        await world.settled()


async def test_two_watchers_at_once_end_in_one_truth(world: World) -> None:
    populate(world)
    async with world.watcher(), world.watcher():
        await world.settled()
        for number in range(20):
            world.create("pods", pod(f"more-{number}", "a"))
        for number in range(0, 20, 2):
            world.delete("pods", f"more-{number}")
        assert len(await world.settled(limit_seconds=60)) == 19


async def _true(check: Callable[[], bool]) -> bool | None:
    return check() or None
