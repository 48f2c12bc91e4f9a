"""A straight line through measurements: what an object costs, and what there is without any; pure."""

from collections.abc import Sequence
from typing import NamedTuple


class Fit(NamedTuple):
    """`base + each * size`."""

    base: float
    each: float

    def at(self, size: float) -> float:
        """What the line says of a size."""
        return self.base + self.each * size


def fit(points: Sequence[tuple[float, float]]) -> Fit | None:
    """The line of least squares; nothing through fewer than two sizes."""
    if len({size for size, _ in points}) < 2:
        return None
    middle_size = sum(size for size, _ in points) / len(points)
    middle = sum(value for _, value in points) / len(points)
    spread = sum((size - middle_size) ** 2 for size, _ in points)
    each = sum((size - middle_size) * (value - middle) for size, value in points) / spread
    return Fit(middle - each * middle_size, each)
