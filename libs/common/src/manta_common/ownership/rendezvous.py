"""Who of the living shall own a partition: everyone computes the same answer, all get as much, and little moves."""

from collections import Counter
from collections.abc import Collection
from hashlib import blake2b


def owners(partitions: int, members: Collection[str]) -> dict[int, str]:
    """Who shall own each partition: the highest scores win, and nobody owns more than a fair share."""
    found, owned = dict[int, str](), Counter[str]()
    most = -(-partitions // len(members)) if members else 0
    scores = ((_score(partition, member), member, partition) for partition in range(partitions) for member in members)
    for _, member, partition in sorted(scores, reverse=True):
        if partition not in found and owned[member] < most:
            found[partition] = member
            owned[member] += 1
    return found


def won(member: str, partitions: int, members: Collection[str]) -> set[int]:
    """The partitions that a member shall own."""
    return {partition for partition, owner in owners(partitions, members).items() if owner == member}


def _score(partition: int, member: str) -> bytes:
    return blake2b(f"{partition}/{member}".encode(), digest_size=8).digest()
