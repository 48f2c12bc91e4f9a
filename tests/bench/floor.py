"""What the scripts share that make the same objects as an operator with as few writes as there can be: the floors."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec
import uvloop

from manta_common.api.core import Pod
from manta_common.api.labels import CLUSTER
from manta_common.keys import Key
from manta_common.kinds import POD, Kind
from manta_common.kube.client import Client, connect
from manta_common.kube.protocol import Kube, MergePatch, Scope
from manta_common.kube.settings import KubeSettings
from tests.bench.cluster_api import CLOSING_SECONDS, IN_FLIGHT, took
from tests.parts.control_plane import ControlPlane

LIMIT_SECONDS = 300
T = TypeVar("T")


class Floor:
    """A namespace in which a script works: room for so many at a time, and who has all of its pods."""

    def __init__(self, kube: Kube, namespace: str, *, pods: int = 1) -> None:
        self.kube, self.namespace, self._pods = kube, namespace, pods
        self.room = asyncio.Semaphore(IN_FLIGHT)
        self._run: dict[str, asyncio.Event] = {}
        self._seen: dict[str, set[str]] = {}

    async def play(self, clusters: Iterable[str], steps: Iterable[Awaitable[None]]) -> None:
        """Everything at once, to its end, while the pods of these clusters are watched."""
        self._run = {name: asyncio.Event() for name in clusters}
        self._seen = {name: set() for name in self._run}
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch())
            await asyncio.gather(*steps)
            watching.cancel()

    async def until_run(self, cluster: str) -> None:
        """Until all pods of a cluster run."""
        await self._run[cluster].wait()

    async def make(self, kind: Kind, manifest: Mapping[str, Any], into: type[T]) -> T:
        """Create an object."""
        return await self.kube.create(kind, self.namespace, dict(manifest), into)

    async def tell(self, kind: Kind, name: str, **status: object) -> None:
        """Write a status."""
        patch = MergePatch({"status": status})
        await self.kube.patch(kind, Key(self.namespace, name), patch, msgspec.Raw, subresource="status")

    async def _watch(self) -> None:
        scope = Scope(namespace=self.namespace)
        since = (await self.kube.list_versions(POD, scope)).version
        async with aclosing(self.kube.watch(POD, Pod, scope, since=since)) as changes:
            async for change in changes:
                if change.object and change.object.status.phase == "Running":
                    self._note(change.object.metadata.labels[CLUSTER], change.object.metadata.name)

    def _note(self, cluster: str, pod: str) -> None:
        self._seen[cluster].add(pod)
        if len(self._seen[cluster]) == self._pods:
            self._run[cluster].set()


def timed(plane: ControlPlane, work: Callable[[Client], Coroutine[Any, Any, None]]) -> float:
    """How long a script takes that has a connection of its own."""

    async def main() -> float:
        settings = KubeSettings(service="bench", connections=IN_FLIGHT + 4)
        async with connect(settings, kubeconfig=str(plane.kubeconfig)) as kube, asyncio.timeout(LIMIT_SECONDS):
            found = await took(work(kube))
        await asyncio.sleep(CLOSING_SECONDS)
        return found

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def cluster_of(name: str) -> str:
    """The name of the cluster of a RayJob or RayService."""
    return f"{name}-abcde"
