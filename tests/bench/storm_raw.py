"""Bare deletes of many RayJobs in a process of its own, as the janitor is one: what its rate is compared with.

`python -m tests.bench.storm_raw FILE`, where the file says what is to be deleted, and how.
"""

import asyncio
import pathlib
import sys
from collections.abc import Iterator, Sequence

import msgspec
import uvloop

from manta_common.keys import Key
from manta_common.kinds import RAYJOB
from manta_common.kube.client import Client, connect
from manta_common.kube.settings import KubeSettings


class Target(msgspec.Struct, frozen=True):
    """One object in the state that it is deleted in."""

    name: str
    uid: str
    version: str


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be deleted, by so many at a time."""

    kubeconfig: str
    namespace: str
    in_flight: int
    targets: Sequence[Target]


async def main(order: Order) -> None:
    """Delete everything with nothing else to do."""
    left = iter(order.targets)
    async with (
        connect(KubeSettings(service="bench"), kubeconfig=order.kubeconfig) as kube,
        asyncio.TaskGroup() as group,
    ):
        for _ in range(order.in_flight):
            group.create_task(_delete(kube, order.namespace, left))


async def _delete(kube: Client, namespace: str, left: Iterator[Target]) -> None:
    for target in left:
        await kube.delete(RAYJOB, Key(namespace, target.name), uid=target.uid, version=target.version)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(msgspec.json.decode(pathlib.Path(sys.argv[1]).read_bytes(), type=Order)))
