"""The reference of settings and metrics, made from their declarations: `python -m manta_common.reference FOLDER`."""

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from manta_common.config import Config
from manta_common.settings.fields import Field, fields, text
from manta_common.settings.names import SERVICES, section, variable
from manta_common.telemetry.definitions import Label, Metric
from manta_common.telemetry.names import COMPONENT, all_metrics

_MADE = "Made by `python -m manta_common.reference` from the code; do not edit."
_CONFIG = f"""\
# Settings

{_MADE} A service reads its settings once, when it starts.

* A setting of every service is the variable `MANTA_<NAME>`; `MANTA_<SERVICE>_<NAME>` sets it for one service only and
  wins, for example `MANTA_LOG_LEVEL=info` and `MANTA_WATCHER_LOG_LEVEL=debug`.
* A setting that only one service has is always `MANTA_<SERVICE>_<NAME>`. So all services can share one environment.
* `--config FILE` or `MANTA_CONFIG` names a YAML or JSON file with the names of the second column; what stands in a
  section of the service's name (`watcher:`, `clusterReconciler:`) is for that service only. Variables win over
  the file.
* An empty variable counts as not set. Lists are separated by commas (in a file they may be lists). Durations are
  `500ms`, `30s`, `5m`, `1h30m` or a number of seconds.
* A name that does not exist, or a value that cannot be, stops the service with exit code 78; every problem is told at
  once, with the nearest name that exists. Values of secrets are never shown.
* Traces follow OpenTelemetry's own variables: they are sent (OTLP over HTTP) when `OTEL_EXPORTER_OTLP_ENDPOINT` or
  `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set or `OTEL_TRACES_EXPORTER` is `otlp`; `OTEL_TRACES_SAMPLER`,
  `OTEL_RESOURCE_ATTRIBUTES` and the others mean what they mean everywhere.
"""
_METRICS = f"""\
# Metrics

{_MADE}

They are served as Prometheus text on `/metrics`. All `manta_...` metrics have the label `{COMPONENT}`, the
service they come from. Where all values of the labels are known, the series exist from the start, with 0.
"""


def main(arguments: Sequence[str]) -> int:
    """Write the pages into a folder."""
    folder = Path(*arguments)
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in pages().items():
        (folder / name).write_text(page, encoding="utf-8")
    return 0


def pages() -> dict[str, str]:
    """Every page by the name of its file."""
    return {"config.md": config_page(configs()), "metrics.md": metrics_page(all_metrics())}


def configs() -> list[type[Config]]:
    """The Config of every service that is installed and has one."""
    modules = [f"manta_{service.replace('-', '_')}" for service in SERVICES]
    built = [f"{name}.config" for name in modules if importlib.util.find_spec(name)]
    return [importlib.import_module(name).Config for name in built if importlib.util.find_spec(name)]


def config_page(services: Iterable[type[Config]]) -> str:
    """The settings of every service, then those of each."""
    parts = [_CONFIG, "## Every service\n", _settings(fields(Config), Config.SERVICE)]
    for config in services:
        own = [field for field in fields(config) if field.service]
        parts += [f"## {config.SERVICE}\n", _settings(own, config.SERVICE) if own else "No settings of its own.\n"]
    return "\n".join(parts)


def metrics_page(metrics: Iterable[Metric]) -> str:
    """A table of metrics."""
    head = "| metric | type | labels | meaning |\n|---|---|---|---|\n"
    return _METRICS + "\n" + head + "".join(map(_metric, metrics))


def _settings(known: Iterable[Field], service: str) -> str:
    head = "| variable | in a file | expected | default | meaning |\n|---|---|---|---|---|\n"
    return head + "".join(_setting(field, service) for field in known)


def _setting(field: Field, service: str) -> str:
    default = "" if field.secret else text(field.default)
    place = f"{section(service)}: {field.key}" if field.service else field.key
    cells = (f"`{variable(field.name, service)}`", f"`{place}`", field.expected, f"`{default}`" if default else "")
    return f"| {' | '.join(cells)} | {field.meaning} |\n"


def _metric(metric: Metric) -> str:
    labels = ", ".join(map(_label, metric.labels))
    return f"| `{metric.name}` | {metric.type} | {labels} | {metric.meaning} |\n"


def _label(label: Label) -> str:
    return f"`{label.name}`" + (f" ({', '.join(label.values)})" if label.values else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
