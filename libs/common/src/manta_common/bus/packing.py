"""How bodies travel: plain JSON, or compressed behind one marking byte when they are large."""

import zlib

from manta_common.errors import MantaError

COMPRESS_ABOVE = 64 * 1024
UNPACKED_LIMIT = 32 * 1024 * 1024  # an object in etcd has 1.5 MB at most; a body that unpacks to more is an attack
ZLIB = b"z"  # no JSON text begins like that
LEVEL = 1  # a third of the size in a tenth of the time of the best level


class Poison(MantaError):
    """A message that cannot be read (bad bytes, a newer schema). Readers count it, skip it and go on."""


def pack(body: bytes) -> bytes:
    """The body as it travels."""
    return ZLIB + zlib.compress(body, LEVEL) if len(body) > COMPRESS_ABOVE else body


def unpack(body: bytes) -> bytes:
    """The body as it was packed; Poison when it is damaged."""
    if not body.startswith(ZLIB):
        return body
    unpacking = zlib.decompressobj()
    try:
        whole = unpacking.decompress(memoryview(body)[1:], UNPACKED_LIMIT)
    except zlib.error as error:
        raise Poison(f"a compressed body that is damaged: {error}") from error
    if not unpacking.eof:
        raise Poison("a compressed body that is cut off or too large")
    return whole
