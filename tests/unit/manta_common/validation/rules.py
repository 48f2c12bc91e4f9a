"""All rules that the validation modules define, found by looking."""

from collections.abc import Iterator

from manta_common.validation import (
    auth,
    autoscaling,
    cluster,
    cron_job,
    deletion,
    fault_tolerance,
    groups,
    history,
    job,
    metadata,
    network,
    service,
    tls,
)
from manta_common.validation.problem import Rule

MODULES = (
    auth,
    autoscaling,
    cluster,
    cron_job,
    deletion,
    fault_tolerance,
    groups,
    history,
    job,
    metadata,
    network,
    service,
    tls,
)


def every_rule() -> Iterator[tuple[str, Rule]]:
    """Every rule, with its module and name."""
    for module in MODULES:
        for name, value in vars(module).items():
            if isinstance(value, Rule):
                yield f"{module.__name__.rpartition('.')[2]}.{name}", value
