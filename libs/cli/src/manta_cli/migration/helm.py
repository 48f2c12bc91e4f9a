"""What helm was given for a release, as it keeps it in the cluster. Pure."""

import base64
import binascii
import gzip
from typing import Any

import msgspec


class _Kept(msgspec.Struct, frozen=True):
    config: dict[str, Any] | None = None


def given(secrets: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The values of the newest of these Secrets of a release; None when there is none that can be read."""
    newest = max(secrets, key=_revision, default=None)
    if newest is None:
        return None
    try:
        packed = base64.b64decode(base64.b64decode(newest["data"]["release"]))
        return msgspec.json.decode(gzip.decompress(packed), type=_Kept).config or {}
    except (KeyError, ValueError, binascii.Error, OSError, EOFError, msgspec.MsgspecError):
        return None


def _revision(secret: dict[str, Any]) -> int:
    text = secret["metadata"].get("labels", {}).get("version", "")
    return int(text) if text.isdigit() else 0
