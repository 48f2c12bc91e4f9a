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
    "kind_missing",
    "cancelled",
)
MOVES = ("claimed", "taken_over", "released", "lost")
PUBLISH_OUTCOMES = ("ok", "conflict", "refused", "throttled", "unreachable", "nobody_there", "cancelled")
VERIFY_CAUSES = ("taken_over", "overdue")

DASHBOARD_CALLS = (
    "get",
    "list",
    "submit",
    "stop",
    "delete",
    "logs",
    "get-applications",
    "put-applications",
    "version",
    "health",
)
DASHBOARD_OUTCOMES = ("ok", "unreachable", "unauthorised", "refused", "cancelled")
BREAKER_STATES = ("closed", "half_open", "open")
CACHE_RESULTS = ("hit", "miss", "shared")
FOLLOWED = ("clusters", "jobs")
REPORT_OUTCOMES = ("published", "unchanged", "conflict", "buried")
POLICIES = ("DeleteSelf", "DeleteCluster", "DeleteWorkers")
DELETION_STATES = ("pending", "due")
DELETION_OUTCOMES = ("done", "failed")
CLEANUP_OUTCOMES = ("done", "failed", "forced")
ORPHAN_KINDS = ("pod", "service", "job")

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

FENCE_HELD = gauge("manta_fence_held_keys", "Keys that wait until the feed shows their own last write.", _WORKER)
FENCE_WAIT_SECONDS = histogram(
    "manta_fence_wait_seconds", "How long it took until the feed showed a write of ours.", _WORKER, bounds=_SHORT
)
FENCE_VERIFIED = counter(
    "manta_fence_verifications_total",
    "Views that were compared with the API server's before acting, by why.",
    _WORKER,
    Label("cause", VERIFY_CAUSES),
)

FEED_MESSAGES = counter("manta_feed_messages_total", "Messages taken from the feed.", _WORKER, _KIND)
FEED_LAG_SECONDS = histogram(
    "manta_feed_lag_seconds", "From when the watcher saw a change to when it was in our store.", _WORKER, bounds=_SHORT
)
FEED_REPLAYS = counter("manta_feed_replays_total", "Readings begun, at first or anew after a loss.", _WORKER)
FEED_POISON = counter("manta_feed_poison_total", "Messages that could not be read and were left out.", _WORKER, _KIND)
FEED_PARTITIONS = gauge(
    "manta_feed_partitions", "Partitions that are read, by how far.", _WORKER, Label("state", ("replaying", "ready"))
)

PARTITIONS_OWNED = gauge("manta_partitions_owned", "Partitions that this replica owns.", _WORKER)
PARTITIONS_MOVED = counter(
    "manta_partitions_moved_total", "Partitions that came or went, by how.", _WORKER, Label("move", MOVES)
)
DRAINED_LATE = counter(
    "manta_partitions_drained_late_total", "Partitions that were let go while a pass of theirs still ran.", _WORKER
)
MEMBERS = gauge("manta_members", "Live replicas of this service, as this one sees them.", _WORKER)

API_CALLS = counter(
    "manta_api_calls_total",
    "Calls to the API server.",
    Label("verb", VERBS),
    _KIND,
    Label("outcome", CALL_OUTCOMES),
)
API_CALL_SECONDS = histogram(
    "manta_api_call_seconds",
    "How long calls to the API server took, with what our own limit held them back.",
    Label("verb", VERBS),
    bounds=_LONG,
)

_CLUSTER = (Label("name"), Label("namespace"), Label("uid"))
CLUSTER_INFO = foreign(gauge("kuberay_cluster_info", "1 for each RayCluster.", *_CLUSTER, Label("owner_kind")))
CLUSTER_PROVISIONED = foreign(
    gauge(
        "kuberay_cluster_condition_provisioned",
        "1 for each RayCluster, by whether all its pods were ready once.",
        *_CLUSTER,
        Label("condition"),
    )
)
CLUSTER_PROVISIONED_SECONDS = foreign(
    gauge(
        "kuberay_cluster_provisioned_duration_seconds",
        "From the creation of a RayCluster until all its pods were ready for the first time.",
        *_CLUSTER,
    )
)

SERVICE_INFO = foreign(gauge("kuberay_service_info", "1 for each RayService.", *_CLUSTER))
SERVICE_READY = foreign(
    gauge(
        "kuberay_service_condition_ready",
        "1 for each RayService, by whether pods answer its requests.",
        *_CLUSTER,
        Label("condition"),
    )
)
SERVICE_UPGRADING = foreign(
    gauge(
        "kuberay_service_condition_upgrade_in_progress",
        "1 for each RayService, by whether its cluster is being replaced.",
        *_CLUSTER,
        Label("condition"),
    )
)

JOB_INFO = foreign(gauge("kuberay_job_info", "1 for each RayJob.", *_CLUSTER))
JOB_DEPLOYMENT_STATUS = foreign(
    gauge(
        "kuberay_job_deployment_status",
        "1 for each RayJob, by how far it has come.",
        *_CLUSTER,
        Label("deployment_status"),
    )
)
JOB_EXECUTION_SECONDS = foreign(
    gauge(
        "kuberay_job_execution_duration_seconds",
        "From the beginning of an attempt of a RayJob to its end, by how it ended and how many had failed before.",
        *_CLUSTER,
        Label("job_deployment_status"),
        Label("retry_count"),
    )
)

WATCHER_ACTIVE = gauge("manta_watcher_active", "1 while this replica is the one that publishes.")
WATCHER_WHOLE = gauge("manta_watcher_whole", "1 while everything was listed and is being watched.")
WATCHER_SESSIONS = counter("manta_watcher_sessions_total", "How often everything was listed from the beginning.")
WATCHER_LISTED = counter("manta_watcher_listed_objects_total", "Objects that lists showed.")
WATCHER_CHANGES = counter("manta_watcher_changes_total", "Changes that watches showed.")
WATCHER_UNREADABLE = counter("manta_watcher_unreadable_total", "Objects and messages that could not be read.")
WATCHER_OBJECTS = gauge("manta_watcher_objects", "Objects that are published.")
WATCHER_WITHHELD = gauge("manta_watcher_withheld_objects", "Objects that wait for what they belong to.")
WATCHER_WAITING = gauge("manta_watcher_waiting_messages", "Messages that wait to be published, or for the answer.")

DASHBOARD_REQUESTS = counter(
    "manta_dashboard_requests_total",
    "Requests to Ray's dashboards; `refused` is any answer of Ray's that is an error, also that there is no such job.",
    Label("call", DASHBOARD_CALLS),
    Label("outcome", DASHBOARD_OUTCOMES),
)
DASHBOARD_REQUEST_SECONDS = histogram(
    "manta_dashboard_request_seconds",
    "How long requests to dashboards took, with the wait for their turn.",
    Label("call", DASHBOARD_CALLS),
    bounds=_SHORT,
)
DASHBOARD_POLL_LAG_SECONDS = histogram(
    "manta_dashboard_poll_lag_seconds", "How much later than due polls began.", bounds=_SHORT
)
DASHBOARD_FOLLOWED = gauge(
    "manta_dashboard_followed", "Clusters that are polled by this replica, and their jobs.", Label("what", FOLLOWED)
)
DASHBOARD_BREAKERS = gauge(
    "manta_dashboard_breakers", "Dashboards by the state of their breaker.", Label("state", BREAKER_STATES)
)
DASHBOARD_CACHE = counter(
    "manta_dashboard_cache_total",
    "Questions answered by what is known (`hit`), by asking (`miss`), or together with an equal one (`shared`).",
    Label("result", CACHE_RESULTS),
)
DASHBOARD_CONNECTIONS = gauge("manta_dashboard_connections", "Open connections to dashboards.")
DASHBOARD_REPORTS = counter(
    "manta_dashboard_reports_total", "Reports by what became of them.", Label("outcome", REPORT_OUTCOMES)
)

DELETIONS_PENDING = gauge(
    "manta_deletions_pending",
    "RayJobs by what is deleted of them next; `due` ones should be gone already.",
    Label("policy", POLICIES),
    Label("state", DELETION_STATES),
)
DELETIONS = counter(
    "manta_deletions_total",
    "Deletions after the end of RayJobs; a `failed` one is tried again.",
    Label("policy", POLICIES),
    Label("outcome", DELETION_OUTCOMES),
)
DELETION_LATE_SECONDS = histogram(
    "manta_deletion_late_seconds",
    "How much later than due deletions were done.",
    Label("policy", POLICIES),
    bounds=_LONG,
)
REDIS_CLEANUPS = counter(
    "manta_redis_cleanups_total",
    "Deleted RayClusters that were let go, by how their clean-up in Redis ended.",
    Label("outcome", CLEANUP_OUTCOMES),
)
ORPHANS = gauge(
    "manta_orphans",
    "Ray objects whose owner is gone and that were told of; only with `MANTA_JANITOR_REPORT_ORPHANS`.",
    Label("kind", ORPHAN_KINDS),
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
ACTION_SPAN: Final = "action"  # followed by the action's class

ERROR_ATTRIBUTE: Final = "error.type"

SEEN_HEADER: Final = "Manta-Seen"  # when the watcher or the gateway saw it, in seconds since 1970
TRACE_HEADER: Final = "traceparent"  # https://www.w3.org/TR/trace-context/


def attributes(**values: str | int) -> dict[str, str | int]:
    """Values as attributes of a span: `key` is `manta.key`."""
    return {f"manta.{name}": value for name, value in values.items()}


def all_metrics() -> list[Metric]:
    """Every metric there is, by name."""
    return sorted((value for value in globals().values() if isinstance(value, Metric)), key=lambda metric: metric.name)
