"""The adapter: one turn for each call through a seam that may delay, refuse or lose it, and watches in virtual time."""

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, TypeVar

import pytest

from manta_common.errors import Conflict, Unreachable
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, NAMESPACE
from manta_common.kube.protocol import Kube, MergePatch
from manta_common.kube.settings import KubeSettings
from manta_embedded.store.kube import Call, EmbeddedKube
from manta_embedded.store.store import Store
from tests.contract.kube.objects import ConfigMap, Object, configmap
from tests.unit.manta_common.virtual import run

T = TypeVar("T")
SETTINGS = KubeSettings(service="unit", watch_seconds=150)


class LoopClock:
    """The time of the running loop, which is virtual."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> Any:
        return asyncio.timeout(seconds)


class Lossy:
    """Notes every call; loses the answers of writes, after they were carried out."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def __call__(self, call: Call, act: Callable[[], T]) -> T:
        self.calls.append(f"{call.verb} {call.kind.plural} {call.key}")
        found = act()
        if call.verb == "create":
            raise Unreachable("the answer was lost")
        return found


def opened() -> Store:
    store = Store(LoopClock(), random.Random(0))
    store.create(NAMESPACE, "", {"metadata": {"name": "space"}})
    return store


def test_it_is_a_kube() -> None:
    async def main() -> None:
        kube: Kube = EmbeddedKube(opened(), SETTINGS)
        assert (await kube.create(CONFIGMAP, "space", configmap("one"), Object)).metadata.name == "one"

    run(main())


def test_a_seam_decides_what_comes_back() -> None:
    async def main() -> None:
        store, seam = opened(), Lossy()
        kube = EmbeddedKube(store, SETTINGS, seam=seam)
        with pytest.raises(Unreachable):
            await kube.create(CONFIGMAP, "space", configmap("one", a="1"), Object)
        assert (await kube.get(CONFIGMAP, Key("space", "one"), ConfigMap)).data == {"a": "1"}
        assert seam.calls == ["create configmaps space/", "get configmaps space/one"]

    run(main())


def test_an_error_of_the_store_is_one_of_ours() -> None:
    async def main() -> None:
        kube = EmbeddedKube(opened(), SETTINGS)
        made = await kube.create(CONFIGMAP, "space", configmap("one"), Object)
        stale = {"metadata": {"resourceVersion": "1"}, "data": {"a": "1"}}
        with pytest.raises(Conflict, match="the object has been modified"):
            await kube.patch(CONFIGMAP, Key("space", "one"), MergePatch(stale), Object)
        assert (await kube.get(CONFIGMAP, Key("space", "one"), Object)) == made

    run(main())


def test_a_watch_brings_a_bookmark_every_minute_and_ends() -> None:
    async def main() -> None:
        store = opened()
        kube = EmbeddedKube(store, SETTINGS)
        since = str(store.version)
        store.create(NAMESPACE, "", {"metadata": {"name": "other"}})
        found = [change async for change in kube.watch(CONFIGMAP, Object, since=since)]
        ended_at = asyncio.get_running_loop().time()
        assert {change.type for change in found} == {"BOOKMARK"}
        assert {change.version for change in found} == {str(store.version)}
        assert 150 <= ended_at <= 300
        assert len(found) == int(ended_at - 2) // 60 + 1

    run(main())


def test_a_watch_wakes_up_for_a_change() -> None:
    async def main() -> None:
        store = opened()
        kube = EmbeddedKube(store, SETTINGS)
        loop = asyncio.get_running_loop()
        loop.call_later(5, lambda: store.create(CONFIGMAP, "space", configmap("one")))
        async with aclosing(kube.watch(CONFIGMAP, Object, since=str(store.version))) as stream:
            change = await anext(stream)
        assert (change.type, loop.time()) == ("ADDED", 5)

    run(main())


def test_a_dropped_line_ends_the_watch_and_nothing_is_missed() -> None:
    async def main() -> None:
        store, lines = opened(), [0]

        async def seam(call: Call, act: Callable[[], T]) -> T:
            if call.verb == "line":
                lines[0] += 1
                if lines[0] == 2:
                    raise Unreachable("the connection broke")
            return act()

        kube = EmbeddedKube(store, SETTINGS, seam=seam)
        since, found = str(store.version), []
        for name in ("one", "two", "three"):
            store.create(CONFIGMAP, "space", configmap(name))
        for _ in range(2):
            try:
                async with asyncio.timeout(1), aclosing(kube.watch(CONFIGMAP, Object, since=since)) as stream:
                    async for change in stream:
                        found.append(change.object.metadata.name if change.object else "")
                        since = change.version
            except (Unreachable, TimeoutError):
                continue
        assert found == ["one", "two", "three"]

    run(main())
