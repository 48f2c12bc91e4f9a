"""Quantities as Kubernetes reads, compares, adds and writes them: 500m, 1.5Gi, 2, 1e3."""

import re
from fractions import Fraction
from math import ceil
from typing import Final

import msgspec

NANO: Final = 10**9
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_LETTERS: Final = {exponent: letter for letter, exponent in _DECIMAL.items()}
_PARTS: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([KMGTPE]i|[eE][+-]?[0-9]+|[numkMGTPE]?)")


class NotAQuantity(ValueError):
    """A text that is no quantity; the message is Kubernetes'."""


class Quantity(msgspec.Struct, frozen=True):
    """A number with at most nine places, and the form it was written in: `decimal`, `binary` or `exponent`."""

    nanos: int
    form: str = "decimal"

    def __str__(self) -> str:
        whole, rest = divmod(self.nanos, NANO)
        if self.form == "binary" and not rest and abs(whole) >= 1024:
            return _binary(whole)
        return _decimal(self.nanos, exponent=self.form == "exponent")

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos + other.nanos, self.form if self.nanos else other.form)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos - other.nanos, self.form if self.nanos else other.form)


ZERO: Final = Quantity(0)


def parsed(value: str | int | float) -> Quantity:
    """The quantity that a value of an object means."""
    text = str(value)
    match = _PARTS.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise NotAQuantity(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    number = Fraction(f"{match[2] or 0}.{match[3] or 0}") * _factor(match[4])
    nanos = ceil(number * NANO)
    return Quantity(-nanos if match[1] == "-" else nanos, _form(match[4]))


def total(values: "list[Quantity]") -> Quantity:
    """The sum, in the form of the first that is not zero."""
    found = ZERO
    for value in values:
        found += value
    return found


def _factor(suffix: str) -> Fraction:
    if suffix in _BINARY[1:]:
        return Fraction(1024 ** _BINARY.index(suffix))
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return Fraction(10) ** int(suffix[1:])
    return Fraction(10) ** _DECIMAL[suffix]


def _form(suffix: str) -> str:
    if suffix in _BINARY[1:]:
        return "binary"
    return "exponent" if suffix[:1] in ("e", "E") and len(suffix) > 1 else "decimal"


def _binary(whole: int) -> str:
    step = 0
    while whole % 1024 == 0 and step < len(_BINARY) - 1:
        whole //= 1024
        step += 1
    return f"{whole}{_BINARY[step]}"


def _decimal(nanos: int, *, exponent: bool) -> str:
    """The shortest whole number with an exponent that three divides."""
    if nanos == 0:
        return "0"
    power = -9
    while nanos % 1000 == 0 and power < 18:
        nanos //= 1000
        power += 3
    if exponent:
        return f"{nanos}e{power}" if power else str(nanos)
    return f"{nanos}{_LETTERS[power]}"
