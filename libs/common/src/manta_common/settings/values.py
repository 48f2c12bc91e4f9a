"""Types of settings beyond numbers and texts, and how a person writes them."""

import re
from datetime import timedelta
from typing import Self

import msgspec

HIDDEN = "***"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_STEP = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_DURATION = re.compile(rf"(?:{_STEP.pattern})+")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%]+)\]|(?P<host>[^:\[\]\s/]*)):(?P<port>[0-9]{1,5})")
_USER_IN_URL = re.compile(r"""(?<=://)[^\s,"']+(?=@)""")  # a slash in a password should be %2F, but may not be


class Secret:
    """A text that is shown only to whoever asks for it by `reveal`."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    @classmethod
    def parse(cls, text: str) -> Self:
        """The secret as it stands in a variable or a file."""
        return cls(text)

    def reveal(self) -> str:
        """The text itself, for the one who has to send it."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return HIDDEN if self._text else "(none)"


class Address(msgspec.Struct, frozen=True):
    """Where to listen; no host means every interface, port 0 any free port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `host:port`, `:port` or `[v6]:port`."""
        found = _ADDRESS.fullmatch(text)
        if not found or int(found["port"]) > 65535:
            raise ValueError
        return cls(found["six"] or found["host"], int(found["port"]))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def duration(text: str) -> timedelta:
    """Read `30s`, `500ms`, `1h30m`, or a plain number of seconds."""
    if _NUMBER.fullmatch(text):
        return timedelta(seconds=float(text))
    if not _DURATION.fullmatch(text):
        raise ValueError
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in _STEP.findall(text)))


def duration_text(span: timedelta) -> str:
    """Write a duration the way it is read: `1h30m`, `30s`, `500ms`."""
    rest = round(span.total_seconds() * 1000)
    parts = []
    for unit in ("d", "h", "m", "s", "ms"):
        count, rest = divmod(rest, round(_UNITS[unit] * 1000))
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def without_credentials(text: str) -> str:
    """The text with user and password taken out of every URL in it."""
    return _USER_IN_URL.sub(HIDDEN, text)
