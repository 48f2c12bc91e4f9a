"""Who of the living shall own a partition: everyone computes the same answer, and few answers change with a member."""

from collections.abc import Collection
from hashlib import blake2b


def winner(partition: int, members: Collection[str]) -> str | None:
    """The member with the highest score for a partition; None when there are none."""
    return max(members, key=lambda member: (_score(partition, member), member), default=None)


def won(member: str, partitions: int, members: Collection[str]) -> set[int]:
    """The partitions that a member shall own."""
    return {partition for partition in range(partitions) if winner(partition, members) == member}


def _score(partition: int, member: str) -> bytes:
    return blake2b(f"{partition}/{member}".encode(), digest_size=8).digest()
