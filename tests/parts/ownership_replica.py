"""A replica that owns partitions and acts on them, run as a program: `ownership_replica URL SERVICE PARTITIONS LEASE`.

It writes a JSON line for everything that happens, with the time of a clock that all processes of a machine share.
"""

import asyncio
import json
import random
import signal
import sys
import time

import msgspec

from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings
from manta_common.clock import SystemClock
from manta_common.ownership.owner import Owner
from manta_common.ownership.settings import Ownership, Times

ACT_SECONDS = 0.02


def say(what: str, at: float, partitions: list[int]) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps({"what": what, "at": at, "partitions": partitions}) + "\n")
    sys.stdout.flush()


async def act_for_ever(owner: Owner, told: set[int]) -> None:
    """Act on everything that may be acted on, again and again; each act is asked for on its own."""
    while True:
        for partition in sorted(told):
            at = time.monotonic()
            if owner.may_act(partition):
                say("acted", at, [partition])
        await asyncio.sleep(ACT_SECONDS)


async def main(url: str, service: str, partitions: int, lease_seconds: float) -> None:
    """Own, act, and hand over on SIGTERM."""

    told: set[int] = set()

    async def acquired(partition: int) -> None:
        told.add(partition)
        say("acquired", time.monotonic(), [partition])

    async def released(partition: int) -> None:
        told.discard(partition)
        say("released", time.monotonic(), [partition])

    usual = Times()
    times = msgspec.structs.replace(
        usual, ttl_seconds=lease_seconds, fence_seconds=lease_seconds * usual.fence_seconds / usual.ttl_seconds
    )
    ownership = Ownership(service=service, acquired=acquired, released=released, partitions=partitions, times=times)
    async with open_bus(BusSettings(urls=(url,))) as bus:
        owner = Owner(bus, ownership, clock=SystemClock(), chance=random.Random())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, owner.stop)
        acting = asyncio.create_task(act_for_ever(owner, told))
        await owner.run()
        acting.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
