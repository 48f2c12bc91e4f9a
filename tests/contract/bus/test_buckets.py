"""Buckets: compare-and-set, keys that expire unless they are renewed, and a watch that tells of all that."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from manta_common.bus.protocol import Bucket, Bus, Entry
from manta_common.errors import Conflict
from tests.contract.bus.conftest import Connect
from tests.parts.eventually import eventually
from tests.parts.patience import patient

LIMIT_SECONDS = 15


@pytest.fixture
def bucket(bus: Bus) -> Bucket:
    """The bucket of the members."""
    return bus.bucket("manta_members")


async def test_a_key_that_was_never_written_is_not_there(bucket: Bucket, prefix: str) -> None:
    assert await bucket.get(f"{prefix}a") is None


async def test_a_key_is_made_and_read(bucket: Bucket, prefix: str) -> None:
    revision = await bucket.put(f"{prefix}a", b"one", expect=0)
    assert await bucket.get(f"{prefix}a") == Entry(key=f"{prefix}a", value=b"one", revision=revision)


async def test_a_key_is_made_only_once(bucket: Bucket, prefix: str) -> None:
    await bucket.put(f"{prefix}a", b"one", expect=0)
    with pytest.raises(Conflict):
        await bucket.put(f"{prefix}a", b"two", expect=0)


async def test_who_knows_the_revision_may_write(bucket: Bucket, prefix: str) -> None:
    first = await bucket.put(f"{prefix}a", b"one", expect=0)
    second = await bucket.put(f"{prefix}a", b"two", expect=first)
    assert second > first
    with pytest.raises(Conflict):
        await bucket.put(f"{prefix}a", b"stale", expect=first)
    assert await bucket.get(f"{prefix}a") == Entry(key=f"{prefix}a", value=b"two", revision=second)


async def test_an_empty_value_is_a_value(bucket: Bucket, prefix: str) -> None:
    revision = await bucket.put(f"{prefix}a", b"", expect=0)
    assert await bucket.get(f"{prefix}a") == Entry(key=f"{prefix}a", value=b"", revision=revision)


async def test_who_knows_the_revision_may_delete(bucket: Bucket, prefix: str) -> None:
    first = await bucket.put(f"{prefix}a", b"one", expect=0)
    second = await bucket.put(f"{prefix}a", b"two", expect=first)
    with pytest.raises(Conflict):
        await bucket.delete(f"{prefix}a", expect=first)
    await bucket.delete(f"{prefix}a", expect=second)
    assert await bucket.get(f"{prefix}a") is None


async def test_a_deleted_key_is_made_anew(bucket: Bucket, prefix: str) -> None:
    revision = await bucket.put(f"{prefix}a", b"one", expect=0)
    await bucket.delete(f"{prefix}a", expect=revision)
    again = await bucket.put(f"{prefix}a", b"two", expect=0)
    assert again > revision
    with pytest.raises(Conflict):
        await bucket.put(f"{prefix}a", b"stale", expect=revision)


async def test_of_two_that_claim_a_key_one_gets_it(connect: Connect, prefix: str) -> None:
    buckets = [(await connect()).bucket("manta_shards") for _ in range(2)]
    outcomes = await asyncio.gather(
        *(bucket.put(f"{prefix}a", b"mine", expect=0) for bucket in buckets), return_exceptions=True
    )
    assert sum(isinstance(outcome, int) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1


async def test_a_key_expires_and_is_made_anew(bucket: Bucket, prefix: str) -> None:
    await bucket.put(f"{prefix}a", b"one", expect=0, ttl_seconds=1)
    await _is_gone(bucket, f"{prefix}a")
    assert await bucket.put(f"{prefix}a", b"two", expect=0) > 0


async def test_an_expired_key_cannot_be_renewed(bucket: Bucket, prefix: str) -> None:
    revision = await bucket.put(f"{prefix}a", b"one", expect=0, ttl_seconds=1)
    await _is_gone(bucket, f"{prefix}a")
    with pytest.raises(Conflict):
        await bucket.put(f"{prefix}a", b"late", expect=revision, ttl_seconds=1)


async def test_a_key_that_is_renewed_does_not_expire(bucket: Bucket, prefix: str) -> None:
    for attempt in range(5):
        if await _renewed_in_time(bucket, f"{prefix}{attempt}."):
            return
    pytest.fail("the machine stood still for a second in each of five attempts")


async def _renewed_in_time(bucket: Bucket, prefix: str) -> bool:
    """Renew a key until one that is not renewed is gone; False if the machine paused so long that it proves nothing."""
    renewed, left = f"{prefix}renewed", f"{prefix}left"
    began = last = time.monotonic()
    revision = await bucket.put(renewed, b"0", expect=0, ttl_seconds=3)
    await bucket.put(left, b"", expect=0, ttl_seconds=3)
    while time.monotonic() < began + 4 or await bucket.get(left):
        try:
            revision = await bucket.put(renewed, b"again", expect=revision, ttl_seconds=3)
        except Conflict:
            if time.monotonic() > last + 1:
                return False
            raise
        last = time.monotonic()
    entry = await bucket.get(renewed)
    assert (entry and entry.revision) == revision or time.monotonic() > last + 1
    return True


async def test_buckets_are_separate(bus: Bus, prefix: str) -> None:
    await bus.bucket("manta_members").put(f"{prefix}a", b"member", expect=0)
    assert await bus.bucket("manta_shards").get(f"{prefix}a") is None


async def test_a_watch_tells_what_is_there_then_that_it_was_all(bucket: Bucket, prefix: str) -> None:
    names = {f"{prefix}{name}" for name in ("a", "b.c")}
    for name in names:
        await bucket.put(name, name.encode(), expect=0)
    async with bucket.watch() as entries:
        found = await _until_all(entries, prefix)
    assert {entry.key: entry.value for entry in found} == {name: name.encode() for name in names}


async def test_a_watch_does_not_tell_of_what_was_gone_before(bucket: Bucket, prefix: str) -> None:
    revision = await bucket.put(f"{prefix}a", b"", expect=0)
    await bucket.delete(f"{prefix}a", expect=revision)
    async with bucket.watch() as entries:
        assert await _until_all(entries, prefix) == []


async def test_a_watch_tells_of_changes_and_deletions(connect: Connect, prefix: str) -> None:
    watched, changed = [(await connect()).bucket("manta_members") for _ in range(2)]
    key = f"{prefix}a"
    async with watched.watch() as entries:
        await _until_all(entries, prefix)
        first = await changed.put(key, b"one", expect=0)
        assert await _next(entries, prefix) == Entry(key=key, value=b"one", revision=first)
        second = await changed.put(key, b"two", expect=first)
        assert await _next(entries, prefix) == Entry(key=key, value=b"two", revision=second)
        await changed.delete(key, expect=second)
        gone = await _next(entries, prefix)
    assert (gone.key, gone.value) == (key, None)


async def test_a_watch_tells_that_a_key_expired(bucket: Bucket, prefix: str) -> None:
    async with bucket.watch() as entries:
        await _until_all(entries, prefix)
        for attempt in range(5):
            if await _told_in_time(bucket, f"{prefix}{attempt}", entries):
                return
    pytest.fail("the machine stood still for a second in each of five attempts")


async def _told_in_time(bucket: Bucket, key: str, entries: AsyncIterator[Entry | None]) -> bool:
    """See a key come and expire; False if the machine paused so long that it had expired before it was told of."""
    began = time.monotonic()
    revision = await bucket.put(key, b"one", expect=0, ttl_seconds=1)
    told = await _next(entries, key)
    if told.value is None and time.monotonic() > began + 1:
        return False
    assert told.value == b"one"
    assert await _next(entries, key) == Entry(key=key, value=None, revision=revision)
    assert await bucket.get(key) is None
    return True


async def test_a_watch_tells_that_a_key_expired_which_was_there_before(bucket: Bucket, prefix: str) -> None:
    for attempt in range(5):
        if await _seen_in_time(bucket, f"{prefix}{attempt}"):
            return
    pytest.fail("the machine stood still for two seconds in each of five attempts")


async def _seen_in_time(bucket: Bucket, key: str) -> bool:
    """See a key that is there expire; False if the machine paused so long that it had expired before one looked."""
    began = time.monotonic()
    revision = await bucket.put(key, b"one", expect=0, ttl_seconds=2)
    async with bucket.watch() as entries:
        found = await _until_all(entries, key)
        if not found and time.monotonic() > began + 2:
            return False
        assert [entry.key for entry in found] == [key]
        assert await _next(entries, key) == Entry(key=key, value=None, revision=revision)
    return True


async def _is_gone(bucket: Bucket, key: str) -> None:
    async def gone() -> bool | None:
        return await bucket.get(key) is None or None

    await eventually(f"{key} expired", gone, limit_seconds=LIMIT_SECONDS)


async def _until_all(entries: AsyncIterator[Entry | None], prefix: str) -> list[Entry]:
    found = []
    async with asyncio.timeout(patient(LIMIT_SECONDS)):
        async for entry in entries:
            if entry is None:
                break
            if entry.key.startswith(prefix):
                found.append(entry)
    return found


async def _next(entries: AsyncIterator[Entry | None], prefix: str) -> Entry:
    async with asyncio.timeout(patient(LIMIT_SECONDS)):
        while True:
            entry = await anext(entries)
            if entry is not None and entry.key.startswith(prefix):
                return entry
