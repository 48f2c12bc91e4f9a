"""RayCronJob of `ray.io/v1`: its spec and status."""

from typing import Annotated, Literal

from msgspec import Meta, field

from manta_common.api.meta import ObjectMeta
from manta_common.api.rayjob import RayJobSpec
from manta_common.api.wire import NonNegative32, NonNegative64, Time, Wire, doc


class RayCronJobSpec(Wire, frozen=True, kw_only=True):
    """A RayJob that is made again and again."""

    job_template: Annotated[RayJobSpec, doc("Spec of the RayJobs to make.")]
    schedule: Annotated[str, doc("When: five cron fields, or a word like `@hourly` or `@every 1h`.")]
    time_zone: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        doc("Time zone of the schedule; absent is the operator's own."),
    ] = None
    suspend: Annotated[bool | None, doc("True makes no further RayJobs; those that run go on.")] = None
    concurrency_policy: Annotated[
        Literal["Allow", "Forbid", "Replace"] | None,
        doc(
            "When the last RayJob still runs: `Allow` another (as when absent), `Forbid` it, or `Replace` the old one.",
            ours=True,
        ),
    ] = None
    starting_deadline_seconds: Annotated[
        NonNegative64 | None,
        doc("How late a RayJob may still be made; later, its tick is missed.", ours=True),
    ] = None
    successful_jobs_history_limit: Annotated[
        NonNegative32 | None, doc("How many RayJobs that succeeded are kept; absent keeps all.", ours=True)
    ] = None
    failed_jobs_history_limit: Annotated[
        NonNegative32 | None, doc("How many RayJobs that failed are kept; absent keeps all.", ours=True)
    ] = None


class RayCronJobStatus(Wire, frozen=True, kw_only=True):
    """How far a schedule has come."""

    last_schedule_time: Annotated[Time | None, doc("The last tick that a RayJob was made for.")] = None


def empty_cron() -> RayCronJobSpec:
    """The spec of an object that was stored without one."""
    return RayCronJobSpec(job_template=RayJobSpec(), schedule="")


class RayCronJob(Wire, frozen=True, kw_only=True):
    """A schedule that makes RayJobs."""

    api_version: str = field(default_factory=lambda: "ray.io/v1")
    kind: str = field(default_factory=lambda: "RayCronJob")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[RayCronJobSpec, doc("What is made, and when.")] = field(default_factory=empty_cron)
    status: Annotated[RayCronJobStatus, doc("How far it has come.")] = field(default_factory=RayCronJobStatus)
