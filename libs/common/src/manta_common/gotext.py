"""Text as Go reads and writes it, with Go's error messages: quoting, integers and durations."""

import re
from typing import Final

_INT: Final = re.compile(r"[+-]?[0-9]+\Z")
_PART: Final = re.compile(r"([0-9]*)(\.([0-9]*))?([^0-9.]*)")
_NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # micro sign
    "μs": 10**3,  # the Greek letter
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_ESCAPES: Final = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    '"': r"\"",
    "\\": r"\\",
}
_QUOTED: Final = {'"': r"\"", "\\": r"\\"}
_HIGHEST: Final = 2**63 - 1


class GoError(ValueError):
    """A text that Go would refuse; the message is Go's."""


def quote(text: str) -> str:
    """Return the text in double quotes, escaped as Go's %q does."""
    return f'"{"".join(_escaped(character) for character in text)}"'


def parse_int(text: str) -> int:
    """Return the number in a text, as Go's strconv.Atoi does."""
    if not _INT.match(text):
        raise GoError(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    number = int(text)
    if not -_HIGHEST - 1 <= number <= _HIGHEST:
        raise GoError(f"strconv.Atoi: parsing {quote(text)}: value out of range")
    return number


def parse_duration(text: str) -> int:
    """Return a duration such as `1h30m` in nanoseconds, as Go's time.ParseDuration does."""
    unsigned = text[1:] if text[:1] in {"+", "-"} else text
    if unsigned == "0":
        return 0
    if not unsigned:
        raise GoError(f"time: invalid duration {_time_quote(text)}")
    total, position = 0, 0
    while position < len(unsigned):
        nanoseconds, position = _duration_part(text, unsigned, position)
        total += nanoseconds
    negative = text.startswith("-")
    if total > _HIGHEST + negative:
        raise GoError(f"time: invalid duration {_time_quote(text)}")
    return -total if negative else total


def _duration_part(text: str, unsigned: str, position: int) -> tuple[int, int]:
    match = _PART.match(unsigned, position)
    whole, fraction, unit = (match[1], match[3] or "", match[4]) if match else ("", "", "")
    if not match or not (whole or fraction):
        raise GoError(f"time: invalid duration {_time_quote(text)}")
    if not unit:
        raise GoError(f"time: missing unit in duration {_time_quote(text)}")
    if unit not in _NANOSECONDS:
        raise GoError(f"time: unknown unit {_time_quote(unit)} in duration {_time_quote(text)}")
    size = _NANOSECONDS[unit]
    return int(whole or "0") * size + int(f"{fraction or 0}") * size // 10 ** len(fraction), match.end()


def _time_quote(text: str) -> str:
    # Package time has a quoting of its own, byte by byte.
    plain = (f"\\x{byte:02x}" if byte >= 0x80 or byte < 0x20 else chr(byte) for byte in text.encode())
    return f'"{"".join(_QUOTED.get(character, character) for character in plain)}"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
