"""Kubernetes quantities: read, added, multiplied and written as Go's resource.Quantity does."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, Self

import msgspec

Notation = Literal["decimal", "binary", "exponent"]

_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?\Z"
)
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIXES: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_LONGEST: Final = 64  # characters; and no power of ten beyond it, or somebody's typing error takes all our memory
_NANO: Final = 10**9
_MOST: Final = (2**63 - 1) * _NANO


class QuantityError(ValueError):
    """A text that is no quantity."""


class Quantity(msgspec.Struct, frozen=True):
    """An amount in billionths, and the notation that it is written in."""

    nanos: int = 0
    notation: Notation = "decimal"

    @classmethod
    def parse(cls, text: str | int) -> Self:
        """The amount that a text such as 500m, 1.5Gi or 2e3 names; smaller parts than billionths are rounded up."""
        match = _QUANTITY.match(str(text))
        if not match or len(match[0]) > _LONGEST:
            raise QuantityError(f"quantities must match the regular expression {_QUANTITY.pattern!r}: {text!r}")
        base, power, notation = _unit(match["suffix"] or "")
        whole, _, decimals = match["number"].partition(".")
        shift = power - len(decimals)
        nanos = _rounded(int(whole + decimals) * base * 10 ** max(shift, 0), 10 ** max(-shift, 0))
        return cls(max(-_MOST, min(_MOST, nanos)), notation)

    @property
    def is_zero(self) -> bool:
        """Whether it is nothing."""
        return self.nanos == 0

    @property
    def value(self) -> int:
        """The amount in whole units, rounded away from zero."""
        return _rounded(self.nanos, _NANO)

    @property
    def approximate(self) -> float:
        """The amount as a floating point number."""
        return self.nanos / _NANO

    def __add__(self, other: Self) -> Self:
        # The first amount that is not zero decides how the sum is written.
        notation = other.notation if self.is_zero else self.notation
        return type(self)(self.nanos + other.nanos, notation)

    def __mul__(self, times: int) -> Self:
        return type(self)(self.nanos * times, self.notation)

    def __str__(self) -> str:
        if self.notation == "binary" and abs(self.nanos) >= 1024 * _NANO:
            return _binary(self.value)
        mantissa, power = _thousands(self.nanos)
        if self.notation == "exponent":
            return f"{mantissa}e{power}" if power else str(mantissa)
        return f"{mantissa}{_SUFFIXES[power]}"


Amounts = Mapping[str, Quantity]


def amount(text: str | int) -> Quantity:
    """The amount in a pod's spec; what the CRD lets through and Kubernetes will refuse, such as 1e1.5, is nothing."""
    try:
        return Quantity.parse(text)
    except QuantityError:
        return Quantity()


def canonical(text: str | int) -> str:
    """An amount as Kubernetes writes it, or what stands there instead of one."""
    try:
        return str(Quantity.parse(text))
    except QuantityError:
        return str(text)


def total(amounts: Iterable[Amounts]) -> dict[str, Quantity]:
    """The sum of several resource lists, name by name."""
    added: dict[str, Quantity] = {}
    for one in amounts:
        for name, quantity in one.items():
            added[name] = added[name] + quantity if name in added else quantity
    return added


def multiplied(amounts: Amounts, times: int) -> dict[str, Quantity]:
    """A resource list a number of times."""
    return {name: quantity * times for name, quantity in amounts.items()}


def _unit(suffix: str) -> tuple[int, int, Notation]:
    """How many billionths a suffix stands for, as a whole number and a power of ten; and its notation."""
    if suffix in _DECIMAL:
        return 1, 9 + _DECIMAL[suffix], "decimal"
    if suffix in _BINARY:
        return 1024 ** _BINARY.index(suffix), 9, "binary"
    return 1, 9 + max(-_LONGEST, min(_LONGEST, int(suffix[1:]))), "exponent"


def _rounded(number: int, divisor: int) -> int:
    """The quotient, rounded away from zero."""
    return -(-number // divisor) if number >= 0 else number // divisor


def _binary(number: int) -> str:
    power = 0
    while number % 1024 == 0 and power < len(_BINARY) - 1:
        number, power = number // 1024, power + 1
    return f"{number}{_BINARY[power]}"


def _thousands(nanos: int) -> tuple[int, int]:
    if nanos == 0:
        return 0, 0
    power = -9
    while nanos % 1000 == 0 and power < max(_SUFFIXES):
        nanos, power = nanos // 1000, power + 3
    return nanos, power
