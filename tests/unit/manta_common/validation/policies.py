"""The rules that the admission policies leave out, each with its reason."""

from typing import Final

from manta_common.validation import (
    autoscaling,
    cluster,
    cron_job,
    deletion,
    fault_tolerance,
    groups,
    history,
    job,
    network,
    service,
    tls,
)
from manta_common.validation.problem import Rule

GATE: Final = "the API server does not know the operator's feature gates"
SCHEMA: Final = "the CRD's schema or its CEL rules refuse it already"
STATUS: Final = "it is about the status, which users do not write"

LEFT_OUT: Final[dict[Rule, str]] = {
    autoscaling.SUSPEND_GATE: GATE,
    deletion.GATE: GATE,
    fault_tolerance.ROCKSDB_GATE: GATE,
    history.GATE: GATE,
    network.GATE: GATE,
    tls.GATE: GATE,
    cluster.UPGRADE_TYPE: SCHEMA,
    deletion.CONDITION_BOTH: SCHEMA,
    deletion.CONDITION_NEITHER: SCHEMA,
    deletion.LEGACY_HALF: SCHEMA,
    deletion.RULES_WITH_LEGACY: SCHEMA,
    deletion.STRATEGY_EMPTY: SCHEMA,
    deletion.TTL_NEGATIVE: SCHEMA,
    groups.REPLICAS_UNSET: SCHEMA,
    job.PRE_RUNNING_DEADLINE: SCHEMA,
    service.DELAY_NEGATIVE: SCHEMA,
    cron_job.ZONE_EMPTY: SCHEMA,
    cluster.SUSPENDED_TWICE: STATUS,
    job.WAITING: STATUS,
    job.RUNTIME_ENV: "CEL reads no YAML",
    cron_job.ZONE_UNKNOWN: "CEL has no table of time zones",
    tls.CERT_MANAGER: "the API server does not tell which other APIs it serves",
    autoscaling.V1_WORKER_RESTARTS: "it is a warning only",
}
