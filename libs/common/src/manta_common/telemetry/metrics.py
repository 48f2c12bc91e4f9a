"""Counters, gauges and histograms for one thread: an increment is an addition, all the rest is done when asked."""

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from manta_common.telemetry.definitions import Metric
from manta_common.telemetry.names import COMPONENT

Values = tuple[str, ...]


class Series(Protocol):
    """The numbers of one combination of labels."""

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Each number with the suffix of its name and its further label."""


S = TypeVar("S", bound=Series)


class Number:
    """One number of a counter or a gauge."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def add(self, amount: float = 1) -> None:
        """Count."""
        self.value += amount

    def set(self, value: float) -> None:
        """Put a gauge to a value."""
        self.value = value

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """The number."""
        yield "", "", self.value


class Distribution:
    """One distribution of a histogram."""

    __slots__ = ("_bounds", "_counts", "_limits", "_sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._limits = [f'le="{bound:g}"' for bound in bounds] + ['le="+Inf"']
        self._counts = [0] * (len(bounds) + 1)
        self._sum: float = 0

    def observe(self, value: float) -> None:
        """Count a value in its bucket."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """The cumulated buckets, the sum and the count."""
        upto = 0
        for limit, count in zip(self._limits, self._counts, strict=True):
            upto += count
            yield "_bucket", limit, upto
        yield "_sum", "", self._sum
        yield "_count", "", upto


class Family(Generic[S]):
    """All series of one metric. Series whose labels are known beforehand exist from the start, with zero."""

    def __init__(self, metric: Metric, constant: str, make: Callable[[], S]) -> None:
        self.metric, self._constant, self._make = metric, constant, make
        self._names = [label.name for label in metric.labels]
        self._series: dict[Values, S] = {}
        self._labels: dict[Values, str] = {}
        self._read: list[Callable[[], Iterable[tuple[Values, float]]]] = []
        if all(label.values for label in metric.labels):
            self.expect()

    def at(self, *values: str) -> S:
        """The series of these label values, in the order of the declaration; keep it where it is used often."""
        found = self._series.get(values)
        return self._add(values) if found is None else found

    def expect(self, **values: Iterable[str]) -> None:
        """Let all combinations exist from now on; labels that are not given have their declared values."""
        choices = (tuple(values.get(label.name, label.values)) for label in self.metric.labels)
        for combination in itertools.product(*choices):
            self.at(*combination)

    def forget(self, *values: str) -> None:
        """What these labels speak of is no more."""
        self._series.pop(values, None)
        self._labels.pop(values, None)

    def read(self, read: Callable[[], float], *values: str) -> None:
        """Ask for the number of one series whenever the metrics are read."""
        self.read_all(lambda: [(values, read())])

    def read_all(self, read: Callable[[], Iterable[tuple[Values, float]]]) -> None:
        """Ask for series with their numbers whenever the metrics are read."""
        self._read.append(read)

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Suffix, labels and number of everything; what is read now wins over what was kept."""
        now = {values: number for read in self._read for values, number in read()}
        for values in [kept for kept in self._series if kept not in now]:
            labels = self._labels[values]
            for suffix, further, number in self._series[values].samples():
                yield suffix, f"{labels},{further}" if labels and further else labels or further, number
        for values, number in now.items():
            yield "", self._label_text(values), number

    def _add(self, values: Values) -> S:
        self._labels[values] = self._label_text(values)
        self._series[values] = series = self._make()
        return series

    def _label_text(self, values: Values) -> str:
        own = [f'{name}="{escaped(value)}"' for name, value in zip(self._names, values, strict=True)]
        return ",".join([self._constant, *own] if self._constant else own)


class Registry:
    """The metrics of one component; each family is made when it is first asked for."""

    def __init__(self, component: str = "") -> None:
        self._constant = f'{COMPONENT}="{escaped(component)}"' if component else ""
        self._families: dict[str, Family[Any]] = {}

    def numbers(self, metric: Metric) -> Family[Number]:
        """The family of a counter or a gauge."""
        return self._family(metric, Number)

    def distributions(self, metric: Metric) -> Family[Distribution]:
        """The family of a histogram."""
        return self._family(metric, lambda: Distribution(metric.bounds))

    def __iter__(self) -> Iterator[Family[Any]]:
        return iter(self._families.values())

    def _family(self, metric: Metric, make: Callable[[], S]) -> Family[S]:
        if metric.name not in self._families:
            self._families[metric.name] = Family(metric, "" if metric.foreign else self._constant, make)
        return self._families[metric.name]


def escaped(value: str) -> str:
    """A label value as the text format wants it."""
    if "\\" in value or "\n" in value or '"' in value:
        return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return value
