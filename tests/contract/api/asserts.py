"""What a refusal is checked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.parts.cluster import ApiError


@contextmanager
def refused(code: int, reason: str, *, message: str = "", match: str = "") -> Iterator[dict[str, Any]]:
    """The block is refused with this code and reason, and with exactly this message or one that matches."""
    status: dict[str, Any] = {}
    with pytest.raises(ApiError) as refusal:
        yield status
    status.update(refusal.value.status)
    assert (refusal.value.code, status.get("reason", "")) == (code, reason), status
    if message:
        assert status["message"] == message
    if match:
        refusal.match(match)
