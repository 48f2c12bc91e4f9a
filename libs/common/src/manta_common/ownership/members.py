"""Who is alive: one key for each replica, which expires unless it is renewed."""

import asyncio
import random
from collections.abc import Set as AbstractSet

import msgspec

from manta_common.bus.protocol import Bucket, Entry
from manta_common.clock import Clock
from manta_common.errors import Conflict, Retry
from manta_common.ownership.settings import Times

NEVER = float("-inf")
SILENT_LIVES = 3  # for how many lifetimes a member may go unheard of, while others are heard


class Lapsed(Retry):
    """Our key has expired: others may own by now what we owned."""


class Member(msgspec.Struct, frozen=True):
    """What a replica says of itself; one that is leaving owns what it has, but shall get no more."""

    leaving: bool = False


class Membership:
    """Our own key, and until when we may act by our own clock.

    Each time we join it is under a new name, so that nobody, ourselves included, takes claims of an earlier life for
    valid ones.
    """

    def __init__(self, service: str, bucket: Bucket, *, times: Times, clock: Clock, chance: random.Random) -> None:
        self._service, self._bucket, self._times = service, bucket, times
        self._clock, self._chance = clock, chance
        self.name = ""
        self._member = Member()
        self._revision = 0
        self._fenced_at = NEVER
        self._writing = asyncio.Lock()  # two renewals at once would take each other for strangers

    @property
    def fresh(self) -> bool:
        """Whether the last renewal is so young that nobody can have taken our place."""
        return self._clock.monotonic() < self._fenced_at

    @property
    def joined(self) -> bool:
        """Whether we are a member, as far as we know."""
        return bool(self.name)

    async def join(self) -> None:
        """Become a member under a new name."""
        name = f"{self._chance.getrandbits(64):016x}"
        began = self._clock.monotonic()
        self._revision = await self._put(name, expect=0)
        self.name, self._fenced_at = name, began + self._times.fence_seconds

    async def renew(self) -> None:
        """Stay a member; Lapsed when we are none any more."""
        async with self._writing:
            began = self._clock.monotonic()
            try:
                self._revision = await self._put(self.name, expect=self._revision)
            except Conflict as error:
                await self._recover(error)
            else:
                self._fenced_at = began + self._times.fence_seconds

    async def announce_leaving(self) -> None:
        """Tell the others to reckon without us."""
        self._member = Member(leaving=True)
        await self.renew()

    async def leave(self) -> None:
        """Cease to be a member."""
        self._fenced_at = NEVER
        name, self.name = self.name, ""
        await self._bucket.delete(member_key(self._service, name), expect=self._revision)

    def lapse(self) -> None:
        """Forget that we were a member."""
        self.name, self._revision, self._fenced_at = "", 0, NEVER

    async def _recover(self, error: Conflict) -> None:
        """Nobody else writes our key: either an answer to an earlier renewal was lost, or the key has expired."""
        found = await self._bucket.get(member_key(self._service, self.name))
        if found is None:
            raise Lapsed(f"the membership {self.name} has expired") from error
        self._revision = found.revision
        raise error  # when that renewal was written is not known: the next one counts

    async def _put(self, name: str, *, expect: int) -> int:
        value = msgspec.json.encode(self._member)
        key = member_key(self._service, name)
        return await self._bucket.put(key, value, expect=expect, ttl_seconds=self._times.ttl_seconds)


class Roster:
    """The members of one service, as the bucket tells of them.

    A key that nobody renews though it does not expire is no member: it would own its share and never work. Only what
    is silent while others are heard counts as such: when we were cut off or stood still, all of them seem silent.
    """

    def __init__(self, service: str, *, times: Times, clock: Clock) -> None:
        self._prefix = member_key(service, "")
        self._ttl_seconds, self._clock = times.ttl_seconds, clock
        self._heard_last = clock.monotonic()
        self._members: dict[str, Member] = {}
        self._heard_at: dict[str, float] = {}
        self._revisions: dict[str, int] = {}

    @property
    def living(self) -> AbstractSet[str]:
        """Everyone whose claims count."""
        since = self._heard_last - SILENT_LIVES * self._ttl_seconds
        return {name for name, heard_at in self._heard_at.items() if heard_at >= since}

    @property
    def silent(self) -> dict[str, int]:
        """Everyone whose key is there though nobody renews it, and its revision."""
        living = self.living
        return {name: revision for name, revision in self._revisions.items() if name not in living}

    @property
    def staying(self) -> AbstractSet[str]:
        """Everyone who shall own something."""
        return {name for name in self.living if not self._members[name].leaving}

    def note(self, entry: Entry) -> bool:
        """Take note of a change of the bucket; whether it changes anything for us."""
        now = self._hear()
        if not entry.key.startswith(self._prefix):
            return False
        name, before = entry.key.removeprefix(self._prefix), dict(self._members)
        if entry.value is None:
            for known in (self._members, self._heard_at, self._revisions):
                known.pop(name, None)
        else:
            self._members[name] = _member(entry.value)
            self._heard_at[name], self._revisions[name] = now, entry.revision
        return self._members != before

    def _hear(self) -> float:
        """Something is heard; after a long silence of all the time of each begins anew."""
        now = self._clock.monotonic()
        if now - self._heard_last > self._ttl_seconds:
            self._heard_at = dict.fromkeys(self._heard_at, now)
        self._heard_last = now
        return now


def member_key(service: str, name: str) -> str:
    """The key of a member."""
    return f"{service}.{name}"


def _member(value: bytes) -> Member:
    """What a key says; one that cannot be read is at least alive."""
    try:
        return msgspec.json.decode(value, type=Member)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Member()
