"""All rules for a RayCronJob, in KubeRay's order."""

from collections.abc import Iterator
from typing import Final

from manta_common.api.gates import Gates
from manta_common.api.raycronjob import RayCronJob
from manta_common.cron.grammar import CronError, parse
from manta_common.validation import job, metadata
from manta_common.validation.problem import Problem, Rule, retold
from manta_common.validation.zones import zone_fault

TEMPLATE_PREFIX: Final = "invalid RayJob template: "

ZONE_IN_SCHEDULE: Final = Rule(
    "cannot use TZ or CRON_TZ in schedule, use timeZone field instead", "Move the time zone to timeZone."
)
SCHEDULE: Final = Rule(
    "invalid cron schedule: {fault}",
    "Write five fields (minute, hour, day, month, weekday), or a word such as @hourly or @every 1h.",
)
ZONE_EMPTY: Final = Rule(
    "timeZone must not be empty string, omit the field to use the local time zone of the KubeRay operator",
    "Leave timeZone out, or name a zone such as Europe/Berlin.",
)
ZONE_UNKNOWN: Final = Rule("invalid time zone: {fault}", "Name a zone of the IANA database, such as Europe/Berlin.")


def validate_cron_job(cron_job: RayCronJob, gates: Gates) -> list[Problem]:
    """Return what is wrong with a RayCronJob; the first message is the one that KubeRay would report."""
    view = job.JobView(cron_job.spec.job_template, annotations={}, gates=gates, path="spec.jobTemplate")
    return [
        *metadata.length_problems("RayCronJob", cron_job.metadata.name),
        *_schedule(cron_job.spec.schedule),
        *_zone(cron_job.spec.time_zone),
        *retold(job.spec_problems(view), TEMPLATE_PREFIX),
    ]


def _schedule(text: str) -> Iterator[Problem]:
    if "TZ" in text:
        yield ZONE_IN_SCHEDULE.at("spec.schedule")
        return
    try:
        parse(text)
    except CronError as fault:
        yield SCHEDULE.at("spec.schedule", fault=fault)


def _zone(name: str | None) -> Iterator[Problem]:
    if name is None:
        return
    fault = zone_fault(name)
    if name == "":
        yield ZONE_EMPTY.at("spec.timeZone")
    elif fault:
        yield ZONE_UNKNOWN.at("spec.timeZone", fault=fault)
