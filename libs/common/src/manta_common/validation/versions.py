"""Ray versions: how they are read, and which version each feature needs."""

import re
from typing import Final

from manta_common.gotext import GoError, quote

_VERSION: Final = re.compile(r"[\t\n\f\r ]*v?([0-9]+(?:\.[0-9]+)*).*\Z")
_HIGHEST: Final = 2**64 - 1

Version = tuple[int, ...]

JOB_METADATA: Final = (2, 6)
TOKEN_AUTH: Final = (2, 52)
SINGLE_HEALTH_ENDPOINT: Final = (2, 53)
K8S_TOKEN_AUTH: Final = (2, 55)
WORKER_PRIORITY: Final = (2, 56)


def parse_version(text: str) -> Version:
    """Return the numbers of a version, trailing zeros cut off, so that two versions compare as tuples."""
    match = _VERSION.match(text)
    if not match:
        raise GoError(f"could not parse {quote(text)} as version")
    parts = match[1].split(".")
    if len(parts) == 1:
        raise GoError(f"illegal version string {quote(text)}")
    if parts[0].startswith("0") and parts[0] != "0":
        raise GoError(f"illegal zero-prefixed version component {quote(parts[0])} in {quote(text)}")
    return _without_trailing_zeros([_number(part, text) for part in parts])


def supports(ray_version: str, needed: Version) -> bool:
    """Tell whether a Ray version is known to be at least the needed one; one that cannot be read is not."""
    try:
        return parse_version(ray_version) >= needed
    except GoError:
        return False


def supports_job_metadata(ray_version: str) -> bool:
    """Tell whether jobs may carry metadata: with Ray 2.6.0, and when no version is given."""
    return not ray_version or supports(ray_version, JOB_METADATA)


def _number(part: str, text: str) -> int:
    if int(part) > _HIGHEST:
        because = f"strconv.ParseUint: parsing {quote(part)}: value out of range"
        raise GoError(f"illegal non-numeric version component {quote(part)} in {quote(text)}: {because}")
    return int(part)


def _without_trailing_zeros(numbers: list[int]) -> Version:
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
