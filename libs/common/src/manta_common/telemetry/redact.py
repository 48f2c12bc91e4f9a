"""Takes secrets out of what is about to be written down."""

import re
from collections.abc import Mapping
from typing import Any

from manta_common.settings.values import HIDDEN, without_credentials

_SECRET_WORDS = {"token", "tokens", "password", "passwd", "authorization", "secret", "secrets", "cookie", "credentials"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{4,}")
_DEPTH = 6


def is_secret(key: str) -> bool:
    """Whether the value of such a key is a secret: `auth_token` and `X-Ray-Authorization` are, `secret_name` is not."""
    words = _WORD.findall(key)
    return bool(words) and words[-1].lower() in _SECRET_WORDS


def redacted(value: object, depth: int = 0) -> Any:
    """The value as plain JSON types, without secrets."""
    match value:
        case None | bool() | int() | float():
            return value
        case Mapping() if depth < _DEPTH:
            return {
                str(key): HIDDEN if is_secret(str(key)) else redacted(item, depth + 1) for key, item in value.items()
            }
        case list() | tuple() | set() | frozenset() if depth < _DEPTH:
            return [redacted(item, depth + 1) for item in value]
    return redacted_text(str(value))


def redacted_text(text: str) -> str:
    """The text without passwords in URLs and without bearer tokens; every character of it can be written as UTF-8."""
    writable = text.encode("utf-8", "backslashreplace").decode()
    return _BEARER.sub(rf"\1 {HIDDEN}", without_credentials(writable))
