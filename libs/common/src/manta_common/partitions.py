"""Which partition an object belongs to; every service, in every version, must come to the same answer."""

from hashlib import blake2b

from manta_common.keys import Key

PARTITIONS = 32  # fixed at install: another number moves every object


def partition_of(root: Key, partitions: int = PARTITIONS) -> int:
    """The partition of everything that belongs to a root (the topmost Ray owner)."""
    digest = blake2b(f"{root.namespace}/{root.name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % partitions
