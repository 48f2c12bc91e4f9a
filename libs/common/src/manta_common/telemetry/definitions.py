"""How a metric is declared."""

from typing import Literal

import msgspec

MetricType = Literal["counter", "gauge", "histogram"]


class Label(msgspec.Struct, frozen=True):
    """A label; `values` are all it can have, or none when they are not known beforehand."""

    name: str
    values: tuple[str, ...] = ()


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric. A `foreign` one has exactly the labels of the project that its name comes from."""

    name: str
    type: MetricType
    meaning: str
    labels: tuple[Label, ...] = ()
    bounds: tuple[float, ...] = ()  # of a histogram
    foreign: bool = False


def counter(name: str, meaning: str, *labels: Label) -> Metric:
    """Declare a number that only grows."""
    return Metric(name=name, type="counter", meaning=meaning, labels=labels)


def gauge(name: str, meaning: str, *labels: Label) -> Metric:
    """Declare a number that is what it is now."""
    return Metric(name=name, type="gauge", meaning=meaning, labels=labels)


def histogram(name: str, meaning: str, *labels: Label, bounds: tuple[float, ...]) -> Metric:
    """Declare a distribution."""
    return Metric(name=name, type="histogram", meaning=meaning, labels=labels, bounds=bounds)


def foreign(metric: Metric) -> Metric:
    """Declare that a metric has no labels beyond those named."""
    return msgspec.structs.replace(metric, foreign=True)
