"""Metrics in Prometheus' text format, https://prometheus.io/docs/instrumenting/exposition_formats/."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from manta_common.telemetry.metrics import Family, Registry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(registries: Iterable[Registry]) -> str:
    """All metrics of all components."""
    return "".join(pieces(registries))


def pieces(registries: Iterable[Registry]) -> Iterator[str]:
    """The same metric by metric, so that whoever writes a great many can do something else in between."""
    together: dict[str, list[Family[Any]]] = {}
    for registry in registries:
        for family in registry:
            together.setdefault(family.metric.name, []).append(family)
    for name in sorted(together):
        yield "".join(_metric(together[name]))


def _metric(families: list[Family[Any]]) -> Iterator[str]:
    metric = families[0].metric
    meaning = metric.meaning.replace("\\", "\\\\").replace("\n", "\\n")
    yield f"# HELP {metric.name} {meaning}\n# TYPE {metric.name} {metric.type}\n"
    for family in families:
        for suffix, labels, value in family.samples():
            braced = f"{{{labels}}}" if labels else ""
            yield f"{metric.name}{suffix}{braced} {number(value)}\n"


def number(value: float) -> str:
    """A number as the text format wants it."""
    if isinstance(value, int):
        return str(int(value))
    if math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
