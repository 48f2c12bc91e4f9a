"""Who owns which partition: one key for each, written by compare-and-set; an empty value is a partition set free."""

import re

import msgspec

from manta_common.bus.protocol import Bucket, Entry

FREE = ""
OWNER = re.compile(r"[-0-9A-Za-z]{1,64}")
PARTITION = re.compile(r"0|[1-9][0-9]{0,9}")  # as we write it: `07` is another key than `7`


class Shard(msgspec.Struct, frozen=True):
    """The claim on one partition; revision 0 means that nobody ever made one."""

    owner: str = FREE
    revision: int = 0


class Shards:
    """The claims of one service, as the bucket tells of them, and the making of our own."""

    def __init__(self, service: str, bucket: Bucket) -> None:
        self._prefix, self._bucket = f"{service}.", bucket
        self._shards: dict[int, Shard] = {}

    def of(self, partition: int) -> Shard:
        """The claim on a partition."""
        return self._shards.get(partition, Shard())

    def claimed_by(self, owner: str) -> list[int]:
        """The partitions whose claim names an owner."""
        return [partition for partition, shard in self._shards.items() if shard.owner == owner]

    async def claim(self, partition: int, owner: str) -> int:
        """Make it ours if the claim is still the one we know; the revision. Conflict otherwise."""
        return await self._write(partition, owner, self.of(partition).revision)

    async def free(self, partition: int, revision: int) -> None:
        """Give up our own claim; Conflict when it is ours no more."""
        await self._write(partition, FREE, revision)

    def note(self, entry: Entry) -> bool:
        """Take note of a change of the bucket; whether it changes anything for us."""
        place = entry.key.removeprefix(self._prefix)
        if place == entry.key or not PARTITION.fullmatch(place):
            return False
        partition, before = int(place), self.of(int(place))
        # Our own writes are believed only when they come back: then nothing can be taken for newer than it is.
        self._shards[partition] = Shard() if entry.value is None else Shard(_owner(entry.value), entry.revision)
        return self.of(partition) != before

    async def _write(self, partition: int, owner: str, expect: int) -> int:
        return await self._bucket.put(f"{self._prefix}{partition}", owner.encode(), expect=expect)


def _owner(value: bytes) -> str:
    """Whom a claim names. What cannot be a member's name is nobody's: whoever asks for `*` finds all that live."""
    name = value.decode(errors="replace")
    return name if OWNER.fullmatch(name) else FREE
