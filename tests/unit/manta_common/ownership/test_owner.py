"""Ownership in virtual time: everything has one owner, and never two."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from functools import wraps

import pytest

from manta_common.bus.protocol import MEMBERS, SHARDS, Entry, Message
from manta_common.errors import Unreachable
from manta_common.ownership.settings import Times
from manta_common.ownership.shards import FREE, Shard, Shards
from manta_embedded.sim.buckets import SimulatedBucket
from manta_embedded.sim.bus import SimulatedBus, SimulatedNats
from manta_embedded.sim.clock import LoopClock
from tests.unit.manta_common.ownership.replicas import Fleet, fleet, now
from tests.unit.manta_common.virtual import run

PARTITIONS = 32


def virtual(test: Callable[..., Coroutine[object, object, None]]) -> Callable[..., None]:
    """Run a test in virtual time."""

    @wraps(test)
    def ran(*arguments: object, **named: object) -> None:
        run(test(*arguments, **named))

    return ran


@virtual
async def test_a_single_replica_owns_everything() -> None:
    async with fleet() as replicas:
        [only] = replicas.start()
        assert await replicas.settled() < 1
        assert only.acting == set(range(PARTITIONS))
        assert sorted(only.moves("acquired")) == list(range(PARTITIONS))


@virtual
async def test_replicas_share() -> None:
    async with fleet() as replicas:
        replicas.start(3)
        await replicas.settled()
        await replicas.watch(5)
        assert all(len(replica.acting) > 3 for replica in replicas.replicas)


@virtual
async def test_a_new_replica_takes_its_share_and_little_else_moves() -> None:
    async with fleet() as replicas:
        old = replicas.start(3)
        await replicas.settled()
        await replicas.watch(5)
        before = replicas.acting
        [new] = replicas.start()
        await replicas.watch(3)
        await replicas.settled()
        moved = {partition for partition, replica in replicas.acting.items() if replica is not before[partition]}
        assert new.acting <= moved
        assert len(new.acting) == PARTITIONS // 4
        assert len(moved) <= PARTITIONS / 2
        assert set().union(*(replica.moves("released") for replica in old)) >= moved


@virtual
async def test_a_clean_stop_hands_over_at_once() -> None:
    async with fleet() as replicas:
        leaving, _ = replicas.start(2)
        await replicas.settled()
        await replicas.watch(5)
        share = leaving.acting
        stopped = asyncio.create_task(leaving.stop())
        while set(replicas.acting) & share != share or leaving.acting:
            assert leaving.told
            await asyncio.sleep(0.01)
        await stopped
        assert set(leaving.moves("released")) >= share
        assert await replicas.settled() < 1


@virtual
async def test_the_share_of_a_killed_replica_is_taken_over_within_ten_seconds() -> None:
    async with fleet() as replicas:
        killed, _ = replicas.start(2)
        await replicas.settled()
        await replicas.watch(5)
        assert killed.acting
        await killed.kill()
        replicas.replicas.remove(killed)
        assert await replicas.settled() < 10


@virtual
async def test_a_replica_that_is_cut_off_stops_before_others_start() -> None:
    async with fleet() as replicas:
        lonely, _ = replicas.start(2)
        await replicas.settled()
        await replicas.watch(5)
        cut_at = now()
        lonely.bus.cut()
        while lonely.acting:
            assert len(replicas.acting) <= PARTITIONS
            await asyncio.sleep(0.01)
        assert 1.5 < now() - cut_at <= 4.01
        await replicas.settled()
        assert now() - cut_at < 10


@pytest.mark.parametrize("seconds", [1, 2.5, 3.5], ids=lambda seconds: f"{seconds} s")
@virtual
async def test_a_short_loss_moves_nothing(seconds: float) -> None:
    async with fleet() as replicas:
        first, second = replicas.start(2)
        await replicas.settled()
        await replicas.watch(5.9)
        before = first.acting, second.acting
        told = len(first.told) + len(second.told)
        first.bus.cut()
        await replicas.watch(seconds)
        first.bus.mend()
        await replicas.watch(6)
        assert (first.acting, second.acting) == before
        assert len(first.told) + len(second.told) == told


@virtual
async def test_who_comes_back_late_is_told_that_it_lost_and_gets_a_share_again() -> None:
    async with fleet() as replicas:
        late, _ = replicas.start(2)
        await replicas.settled()
        await replicas.watch(5)
        share = late.acting
        late.bus.cut()
        await replicas.watch(12)
        assert not late.acting
        assert late.owner.held == share  # nobody could tell it
        late.bus.mend()
        await replicas.watch(5)
        assert set(late.moves("released")) >= share
        assert late.acting
        await replicas.settled()


@virtual
async def test_the_next_owner_starts_when_the_drain_is_over() -> None:
    async with fleet(drain_seconds=3) as replicas:
        [old] = replicas.start()
        await replicas.settled()
        began = now()
        [new] = replicas.start()
        await replicas.watch(2)
        assert not new.acting
        assert old.moves("draining")
        assert len(old.acting) == PARTITIONS  # what is under way may be brought to its end
        await replicas.watch(4)
        assert new.acting == set(old.moves("released"))
        assert all(at > began + 2.99 for word, _, at in new.told if word == "acquired")


@virtual
async def test_a_drain_that_takes_too_long_is_cut_off() -> None:
    async with fleet(drain_seconds=1000, times=Times(drain_seconds=2)) as replicas:
        [old] = replicas.start()
        await replicas.settled()
        [new] = replicas.start()
        await replicas.watch(5)
        assert new.acting
        assert old.moves("draining")
        assert not old.moves("released")
        assert not new.acting & old.acting


@virtual
async def test_a_single_partition_has_one_owner_and_a_standby() -> None:
    async with fleet(partitions=1) as replicas:
        replicas.start(2)
        await replicas.settled()
        await replicas.watch(5)
        [active] = replicas.acting.values()
        await active.kill()
        replicas.replicas.remove(active)
        assert await replicas.settled() < 10


@virtual
async def test_two_services_do_not_mix() -> None:
    nats = SimulatedNats(LoopClock())
    one, other = Fleet(nats, "one"), Fleet(nats, "other")
    for replicas in (one, other):
        replicas.start(2)
    await one.settled()
    await other.settled()
    await other.watch(5)
    before = other.acting
    for replica in list(one.replicas):
        await replica.kill()
    one.replicas.clear()
    await other.watch(15)
    assert other.acting == before
    await other.end()


@virtual
async def test_wiped_buckets_are_filled_again() -> None:
    async with fleet() as replicas:
        replicas.start(3)
        await replicas.settled()
        replicas.nats.wipe()
        await asyncio.sleep(5)
        assert await replicas.settled() < 5
        await replicas.watch(10)


@virtual
async def test_an_answer_that_was_lost_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third write is carried out, but the writer is not told."""
    put, chance = SimulatedBucket.put, random.Random(7)

    async def forgetful(self: SimulatedBucket, *arguments: object, **named: object) -> int:
        revision = await put(self, *arguments, **named)  # type: ignore[arg-type]
        if chance.random() < 1 / 3:
            raise Unreachable("the answer was lost")
        return revision

    monkeypatch.setattr(SimulatedBucket, "put", forgetful)
    async with fleet() as replicas:
        first, second = replicas.start(2)
        await replicas.settled()
        await replicas.watch(5)
        released = len(first.moves("released")) + len(second.moves("released"))
        await replicas.watch(60)
        await replicas.settled()
        assert len(first.moves("released")) + len(second.moves("released")) == released


@virtual
async def test_stopping_without_a_connection_ends() -> None:
    async with fleet() as replicas:
        [only] = replicas.start()
        await replicas.settled()
        only.bus.cut()
        await only.stop()
        assert not only.acting
        assert only.owner.held == set()


@virtual
async def test_a_key_that_cannot_be_read_disturbs_nobody() -> None:
    async with fleet() as replicas:
        bucket = replicas.start()[0].bus.bucket("manta_members")
        await bucket.put("svc.strange", b"\xff\x00", expect=0, ttl_seconds=6)
        await replicas.watch(15)
        await replicas.settled()


@pytest.mark.parametrize("seed", range(12))
@virtual
async def test_whatever_happens_nobody_acts_on_what_another_may_act_on(seed: int) -> None:
    chance = random.Random(seed)
    async with fleet(drain_seconds=chance.choice([0, 0.5, 4])) as replicas:
        replicas.start(2)
        stopping = []
        for _ in range(25):
            living = [one for one in replicas.replicas if not one.running.done()]
            match chance.choice(["start", "kill", "stop", "cut", "mend", "mend", "wait"]):
                case "start" if len(living) < 5:
                    replicas.start()
                case "kill" if len(living) > 1:
                    await chance.choice(living).kill()
                case "stop" if len(living) > 1:
                    stopping.append(asyncio.create_task(chance.choice(living).stop()))
                case "cut":
                    chance.choice(living).bus.cut()
                case "mend":
                    chance.choice(living).bus.mend()
            await replicas.watch(chance.choice([0.1, 1, 3, 7]))
        await asyncio.gather(*stopping)
        replicas.start()
        for replica in replicas.replicas:
            if not replica.running.done():
                replica.bus.mend()
        await replicas.watch(20)
        await replicas.settled()


@virtual
async def test_telemetry_is_told_how_partitions_come_and_go() -> None:
    async with fleet() as replicas:
        first, second = replicas.start(2)
        await replicas.settled()
        await replicas.watch(5)
        assert first.owner.members == second.owner.members == 2
        share = len(second.acting)
        assert first.moved["claimed"] + second.moved["claimed"] >= PARTITIONS
        assert not first.moved["taken_over"]
        second.bus.cut()
        await replicas.watch(12)
        assert first.moved["taken_over"] == share
        second.bus.mend()
        await replicas.watch(5)
        assert second.moved["lost"] == share
        assert first.moved["released"] == len(second.acting)


@virtual
async def test_a_member_that_nobody_keeps_alive_gets_nothing_for_long() -> None:
    async with fleet() as replicas:
        [only] = replicas.start()
        await replicas.settled()
        members = SimulatedBucket(replicas.replicas[0].bus, replicas.nats.buckets[MEMBERS])
        await members.put("svc.ghost", b"\xff", expect=0)  # without an end, as a person might
        await replicas.watch(5)
        assert len(only.acting) < PARTITIONS, "as for anybody who has just joined"
        await replicas.watch(20)
        assert only.acting == set(range(PARTITIONS))


@virtual
async def test_what_a_dead_replica_owned_is_taken_over_though_its_key_stays() -> None:
    """A NATS that was killed may forget when a key was to expire, and bring back what had expired."""
    async with fleet() as replicas:
        bus = SimulatedBus(replicas.nats)
        members, claims = (SimulatedBucket(bus, replicas.nats.buckets[name]) for name in (MEMBERS, SHARDS))
        await members.put("svc.ghost", b"{}", expect=0)
        for partition in range(PARTITIONS):
            await claims.put(f"svc.{partition}", b"ghost", expect=0)
        replicas.start(2)
        await replicas.watch(10)
        assert not replicas.acting, "as long as it may only be slow"
        assert await replicas.settled() < 30
        assert await members.get("svc.ghost") is None, "nobody looks after it again and again"


@pytest.mark.parametrize("owner", [b"", b"ghost", None], ids=["free", "of the dead", "none"])
@virtual
async def test_a_lost_claim_is_made_anew_and_nothing_moves(owner: bytes | None) -> None:
    """A NATS that was killed may come back without its last writes."""
    async with fleet() as replicas:
        first, second = replicas.start(2)
        await replicas.settled()
        await replicas.watch(5)
        share, told = first.acting, len(first.told) + len(second.told)
        claims = replicas.nats.buckets[SHARDS]
        for partition in share:
            if owner is None:
                claims.remove(f"svc.{partition}")
            else:
                claims.write(Message(subject=f"svc.{partition}", body=owner, sequence=0), None, None)
        claims.write(
            Message(subject="another.0", body=b"", sequence=0), None, None
        )  # nobody is told of a removal alone
        await replicas.watch(3)
        assert first.acting == share
        assert len(first.told) + len(second.told) == told
        found = {partition: claims.find(f"svc.{partition}") for partition in range(PARTITIONS)}
        named = {partition: message.body for partition, message in found.items() if message}
        assert len(named) == PARTITIONS
        assert len({named[partition] for partition in share}) == 1
        assert len(set(named.values()) - {b"", b"ghost"}) == 2


@virtual
async def test_a_claim_that_was_lost_before_it_was_seen_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    put = SimulatedBucket.put
    lost: list[str] = []

    async def forgotten(self: SimulatedBucket, key: str, *arguments: object, **named: object) -> int:
        if key == "svc.7" and not lost:
            lost.append(key)
            return 1
        return await put(self, key, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(SimulatedBucket, "put", forgotten)
    async with fleet() as replicas:
        [only] = replicas.start()
        await replicas.settled()
        await replicas.watch(5)
        assert replicas.nats.buckets[SHARDS].find("svc.7")
        assert sorted(only.moves("acquired")) == list(range(PARTITIONS))


@virtual
async def test_what_another_claims_who_lives_is_let_go() -> None:
    async with fleet() as replicas:
        first, second = replicas.start(2)
        await replicas.settled()
        await replicas.watch(5)
        taken, others = min(first.acting), min(second.acting)
        claims = replicas.nats.buckets[SHARDS]
        theirs = claims.find(f"svc.{others}")
        assert theirs
        claims.write(Message(subject=f"svc.{taken}", body=theirs.body, sequence=0), None, None)
        await replicas.watch(3)
        assert taken in first.moves("released")
        assert replicas.acting[taken] is first, "the other one gave up what was not its share"


@virtual
async def test_who_is_heard_keeps_its_key() -> None:
    async with fleet() as replicas:
        replicas.start(3)
        await replicas.settled()
        before = {replica.owner.held for replica in replicas.replicas}
        await replicas.watch(60)
        assert {replica.owner.held for replica in replicas.replicas} == before


@pytest.mark.parametrize("key", ["07", "\u0667", "7.0", "+7", "9" * 30, "x", ""], ids=repr)
def test_a_claim_has_one_key(key: str) -> None:
    @virtual
    async def play() -> None:
        async with fleet() as replicas:
            claims = replicas.nats.buckets[SHARDS]
            for _ in range(20):  # newer than what stands under the true key
                claims.write(Message(subject=f"svc.{key}", body=b"\xff\x00", sequence=0), None, None)
            replicas.start(2)
            await replicas.settled()
            claims.write(Message(subject=f"svc.{key}", body=b"nobody", sequence=0), None, None)
            replicas.start()
            await replicas.watch(5)
            assert len(replicas.acting) == PARTITIONS

    play()


@pytest.mark.parametrize("owner", [b"*", b">", b"a b", b"\xff", b"x" * 5000, b"a.b"], ids=lambda owner: repr(owner[:9]))
async def test_a_claim_of_what_is_no_name_is_nobodys(owner: bytes) -> None:
    shards = Shards("svc", SimulatedBucket(SimulatedBus(nats := SimulatedNats(LoopClock())), nats.buckets[SHARDS]))
    assert shards.note(Entry(key="svc.7", value=owner, revision=5))
    assert shards.of(7) == Shard(FREE, 5)
