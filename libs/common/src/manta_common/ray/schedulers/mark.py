"""What a scheduler adds to a pod."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Labels, annotations and fields of the pod's spec."""

    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    spec: Mapping[str, Any] = msgspec.field(default_factory=dict)
