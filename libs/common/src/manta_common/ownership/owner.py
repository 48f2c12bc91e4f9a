"""Sharing the partitions of a service among its replicas.

Everyone computes who shall own what, claims its share when nobody else has it, and hands over what is another's. A
claim counts while its owner is a member; an owner that could not renew its membership for a while stops acting, by
its own clock, before the membership expires and others may take over. This saves work and quarrels. It is not what
keeps the world safe: with two owners of a partition nothing bad may happen.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Iterable

from manta_common.bus.protocol import MEMBERS, SHARDS, Bucket, Bus, Entry
from manta_common.clock import Clock
from manta_common.errors import Retry
from manta_common.ownership.members import Lapsed, Membership, Roster, member_key
from manta_common.ownership.rendezvous import won
from manta_common.ownership.settings import Ownership
from manta_common.ownership.shards import FREE, Shards

log = logging.getLogger(__name__)


class _Holding:
    """One partition that is ours, from the claim to the end of its drain."""

    def __init__(self, partition: int, member: str) -> None:
        self.partition, self.member = partition, member
        self.revision, self.claimed_at = 0, 0.0
        self.let_go = asyncio.Event()
        self.keeping: asyncio.Task[None] | None = None


class Owner:
    """Our share of a service's partitions. `run` it in a task; `may_act` is asked before every act."""

    def __init__(self, bus: Bus, ownership: Ownership, *, clock: Clock, chance: random.Random) -> None:
        self._ownership, self._times, self._clock, self._chance = ownership, ownership.times, clock, chance
        self._members, self._claims = bus.bucket(MEMBERS), bus.bucket(SHARDS)
        self._membership = Membership(ownership.service, self._members, times=self._times, clock=clock, chance=chance)
        self._roster = Roster(ownership.service, times=self._times, clock=clock)
        self._shards = Shards(ownership.service, self._claims)
        self._holdings: dict[int, _Holding] = {}
        self._views_missing = 2
        self._changed, self._renew_now, self._stopping = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @property
    def held(self) -> frozenset[int]:
        """The partitions that are ours, those that are being drained too."""
        return frozenset(self._holdings)

    @property
    def members(self) -> int:
        """How many replicas of the service are alive, as far as we know."""
        return len(self._roster.living)

    def may_act(self, partition: int) -> bool:
        """Whether the partition is ours at this moment, for certain."""
        holding = self._holdings.get(partition)
        return holding is not None and holding.member == self._membership.name and self._membership.fresh

    def stop(self) -> None:
        """Hand everything over, and let `run` return."""
        self._stopping.set()
        self._changed.set()

    async def run(self) -> None:
        """Own our share until `stop` is called."""
        async with asyncio.TaskGroup() as tasks:
            background = [
                tasks.create_task(self._follow(self._members, self._note_member)),
                tasks.create_task(self._follow(self._claims, self._shards.note)),
                tasks.create_task(self._stay_member()),
            ]
            while not self._stopping.is_set():
                self._changed.clear()
                await self._balance(tasks)
                await self._until(self._changed, self._times.look_seconds)
            await self._hand_over()
            for task in background:
                task.cancel()
        with contextlib.suppress(Retry):
            if self._membership.joined:
                await self._membership.leave()

    async def _follow(self, bucket: Bucket, note: Callable[[Entry], bool]) -> None:
        async with bucket.watch() as entries:
            async for entry in entries:
                if entry is None:
                    self._views_missing -= 1
                    self._changed.set()
                elif note(entry):
                    self._changed.set()

    def _note_member(self, entry: Entry) -> bool:
        own = self._membership.joined and entry.key == member_key(self._ownership.service, self._membership.name)
        if own and entry.value is None:
            self._renew_now.set()  # wiped, or expired: find out
        return self._roster.note(entry)

    async def _stay_member(self) -> None:
        while True:
            self._renew_now.clear()
            seconds = await self._renewed()
            await self._until(self._renew_now, seconds * self._chance.uniform(0.9, 1.1))

    async def _renewed(self) -> float:
        """Join, or stay joined; after how many seconds to do it again."""
        try:
            if self._membership.joined:
                await self._membership.renew()
            else:
                await self._membership.join()
                self._changed.set()
        except Lapsed as error:
            log.warning("lost our membership", extra={"service": self._ownership.service, "error": str(error)})
            self._lapse()
            return 0
        except Retry as error:
            log.warning("could not renew our membership", extra={"error": str(error)})
            return self._times.retry_seconds
        return self._times.renew_seconds

    def _lapse(self) -> None:
        self._membership.lapse()
        for holding in self._holdings.values():
            holding.let_go.set()

    async def _balance(self, tasks: asyncio.TaskGroup) -> None:
        """Bring what we hold nearer to what we shall hold."""
        if self._views_missing or not self._membership.fresh:
            return
        name = self._membership.name
        await self._bury_silent(name)
        wanted = won(name, self._ownership.partitions, {*self._roster.staying, name})
        for partition in self._holdings.keys() - wanted:
            self._let_go(partition)
        stray = [one for one in self._shards.claimed_by(name) if one not in wanted and one not in self._holdings]
        missing = [partition for partition in wanted if not self._has_claim(partition)]
        claimable = await self._claimable(missing, name)
        for partition in set(missing) - set(claimable):
            self._let_go(partition)
        await asyncio.gather(
            *(self._claim(partition, name, tasks) for partition in claimable),
            *(self._free(partition, self._shards.of(partition).revision) for partition in stray),
        )

    def _has_claim(self, partition: int) -> bool:
        """Whether we hold a partition and nothing speaks against it.

        A NATS that was killed may come back without its last writes, our claim among them. It is seen in the bucket
        again soon after it was made, or not at all.
        """
        holding = self._holdings.get(partition)
        if holding is None or holding.let_go.is_set():
            return holding is not None
        is_new = self._clock.monotonic() < holding.claimed_at + self._times.renew_seconds
        return is_new or self._shards.of(partition).owner == holding.member

    def _let_go(self, partition: int) -> None:
        if partition in self._holdings:
            self._holdings[partition].let_go.set()

    async def _bury_silent(self, name: str) -> None:
        """Remove the keys of others that nobody renews, unless they are renewed just now.

        A NATS that was killed may forget when a key was to expire, and bring back some that had expired
        (https://github.com/nats-io/nats-server/pull/6781): the claims of such a member would count for ever.
        """
        for other, revision in self._roster.silent.items():
            if other != name:
                with contextlib.suppress(Retry):
                    await self._members.delete(member_key(self._ownership.service, other), expect=revision)
                    log.warning("removed a member that nobody keeps alive", extra={"member": other})

    async def _claimable(self, partitions: Iterable[int], name: str) -> list[int]:
        """Those that nobody owns who is alive. Our list of the living may lag behind: the bucket itself is asked."""
        owners = {partition: self._shards.of(partition).owner for partition in partitions}
        unknown = set(owners.values()) - self._roster.living - {FREE, name}
        dead = {owner for owner in sorted(unknown) if await self._is_dead(owner)}
        return [partition for partition, owner in owners.items() if owner in {FREE, name, *dead}]

    async def _is_dead(self, owner: str) -> bool:
        try:
            return await self._members.get(member_key(self._ownership.service, owner)) is None
        except Retry:
            return False

    async def _claim(self, partition: int, name: str, tasks: asyncio.TaskGroup) -> None:
        before = self._shards.of(partition).owner
        try:
            revision = await self._shards.claim(partition, name)
        except Retry as error:
            log.debug("a claim failed", extra={"partition": partition, "error": str(error)})
            return
        if name == self._membership.name and not self._stopping.is_set():
            holding = self._holdings.get(partition)
            if holding is None:
                self._ownership.moved("claimed" if before in (FREE, name) else "taken_over")
                holding = self._holdings[partition] = _Holding(partition, name)
                holding.keeping = tasks.create_task(self._keep(holding))
            else:
                log.warning("made a lost claim anew", extra={"partition": partition})
            holding.revision, holding.claimed_at = revision, self._clock.monotonic()

    async def _keep(self, holding: _Holding) -> None:
        where = {"service": self._ownership.service, "partition": holding.partition}
        await self._ownership.acquired(holding.partition)
        log.info("acquired a partition", extra=where)
        await holding.let_go.wait()
        try:
            async with self._clock.timeout(self._times.drain_seconds):
                await self._ownership.released(holding.partition)
        except TimeoutError:
            log.warning("a partition was not drained in time", extra=where)
        del self._holdings[holding.partition]
        is_ours = holding.member == self._membership.name
        self._ownership.moved("released" if is_ours else "lost")
        if is_ours:
            await self._free(holding.partition, holding.revision)
        log.info("released a partition", extra=where)
        self._changed.set()

    async def _free(self, partition: int, revision: int) -> None:
        try:
            await self._shards.free(partition, revision)
        except Retry as error:  # as a stray claim it is tried again
            log.debug("a claim could not be given up", extra={"partition": partition, "error": str(error)})

    async def _hand_over(self) -> None:
        """The others must know first that we go, to claim at once what we set free."""
        if self._membership.joined:
            with contextlib.suppress(Retry):
                await self._membership.announce_leaving()
        holdings = list(self._holdings.values())
        for holding in holdings:
            holding.let_go.set()
        await asyncio.gather(*(holding.keeping for holding in holdings if holding.keeping))

    async def _until(self, event: asyncio.Event, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with self._clock.timeout(seconds):
                await event.wait()
