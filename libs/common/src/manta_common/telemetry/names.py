"""Every name that telemetry shows: metrics, spans, attributes, headers. They are contracts with dashboards."""

from typing import Final, get_args

from manta_common.telemetry.definitions import Label, Metric, counter, foreign, gauge, histogram
from manta_common.worker import Outcome

COMPONENT: Final = "component"  # `service` would clash with the label that Prometheus' operator adds

_SHORT = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_LONG = (*_SHORT, 60, 120, 300)

_WORKER = Label("worker")
_KIND = Label("kind")
VERBS = ("get", "list", "watch", "create", "patch", "apply", "delete")
CALL_OUTCOMES = (
    "ok",
    "not_found",
    "already_exists",
    "conflict",
    "expired",
    "throttled",
    "refused",
    "unreachable",
    "rejected",
    "cancelled",
)
MOVES = ("claimed", "taken_over", "released", "lost")
PUBLISH_OUTCOMES = ("ok", "conflict", "unreachable")
VERIFY_CAUSES = ("taken_over", "overdue")

PASSES = counter(
    "manta_passes_total",
    "Passes by how they ended; `not_caught_up` ones waited for the fence.",
    _WORKER,
    Label("outcome", get_args(Outcome)),
)
PASS_SECONDS = histogram("manta_pass_seconds", "How long passes took.", _WORKER, bounds=_LONG)
PASS_WAIT_SECONDS = histogram("manta_pass_wait_seconds", "How long keys waited for a pass.", _WORKER, bounds=_LONG)
QUEUE_DEPTH = gauge("manta_queue_depth", "Keys that wait for a pass.", _WORKER)
QUEUE_OLDEST_SECONDS = gauge("manta_queue_oldest_wait_seconds", "How long the oldest of them has waited.", _WORKER)

FENCE_HELD = gauge("manta_fence_held_keys", "Keys that wait until the feed shows their own last write.")
FENCE_WAIT_SECONDS = histogram(
    "manta_fence_wait_seconds", "How long it took until the feed showed a write of ours.", bounds=_SHORT
)
FENCE_VERIFIED = counter(
    "manta_fence_verifications_total",
    "Views that were compared with the API server's before acting, by why.",
    Label("cause", VERIFY_CAUSES),
)

FEED_MESSAGES = counter("manta_feed_messages_total", "Messages taken from the feed.", _KIND)
FEED_LAG_SECONDS = histogram(
    "manta_feed_lag_seconds", "From when the watcher saw a change to when it was in our store.", bounds=_SHORT
)
FEED_REPLAYS = counter("manta_feed_replays_total", "Readings begun, at first or anew after a loss.")
FEED_POISON = counter("manta_feed_poison_total", "Messages that could not be read and were left out.", _KIND)
FEED_PARTITIONS = gauge(
    "manta_feed_partitions", "Partitions that are read, by how far.", Label("state", ("replaying", "ready"))
)

PARTITIONS_OWNED = gauge("manta_partitions_owned", "Partitions that this replica owns.")
PARTITIONS_MOVED = counter(
    "manta_partitions_moved_total", "Partitions that came or went, by how.", Label("move", MOVES)
)
MEMBERS = gauge("manta_members", "Live replicas of this service, as this one sees them.")

API_CALLS = counter(
    "manta_api_calls_total",
    "Calls to the API server.",
    Label("verb", VERBS),
    _KIND,
    Label("outcome", CALL_OUTCOMES),
)
API_CALL_SECONDS = histogram(
    "manta_api_call_seconds", "How long calls to the API server took.", Label("verb", VERBS), bounds=_LONG
)
API_LIMIT_SECONDS = histogram(
    "manta_api_limit_wait_seconds", "How long calls were held back by our own limit.", bounds=_SHORT
)

BUS_PUBLISHES = counter(
    "manta_bus_publishes_total", "Messages sent to the bus, by outcome.", Label("outcome", PUBLISH_OUTCOMES)
)
BUS_PUBLISH_SECONDS = histogram("manta_bus_publish_seconds", "Until the bus had stored a message.", bounds=_SHORT)
BUS_CONNECTED = gauge("manta_bus_connected", "1 while there is a connection to the bus.")

LOOP_DELAY_SECONDS = histogram(
    "manta_event_loop_delay_seconds",
    "How much later than asked the event loop woke a sleeper; sampled.",
    bounds=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
BUILD = gauge("manta_build_info", "Always 1; which version this is.", Label("version"), Label("python"))
CPU_SECONDS = foreign(counter("process_cpu_seconds_total", "User and system CPU time."))
MEMORY_BYTES = foreign(gauge("process_resident_memory_bytes", "Resident memory."))
OPEN_FILES = foreign(gauge("process_open_fds", "Open file descriptors."))
MOST_FILES = foreign(gauge("process_max_fds", "Most file descriptors that may be open."))
START_TIME = foreign(gauge("process_start_time_seconds", "When the process started, since 1970."))

WATCH_SPAN: Final = "watch"
PUBLISH_SPAN: Final = "publish"
PASS_SPAN: Final = "pass"
DECIDE_SPAN: Final = "decide"
ACTION_SPAN: Final = "action"  # followed by the action's class

ERROR_ATTRIBUTE: Final = "error.type"

TRACE_HEADER: Final = "traceparent"  # https://www.w3.org/TR/trace-context/


def attributes(**values: str | int) -> dict[str, str | int]:
    """Values as attributes of a span: `key` is `manta.key`."""
    return {f"manta.{name}": value for name, value in values.items()}


def all_metrics() -> list[Metric]:
    """Every metric there is, by name."""
    return sorted((value for value in globals().values() if isinstance(value, Metric)), key=lambda metric: metric.name)
