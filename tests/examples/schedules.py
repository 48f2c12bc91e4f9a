"""Examples of the rules that RayCronJobs have of their own, as whole manifests."""

from manta_common.validation import cron_job, metadata
from manta_common.validation.problem import Rule
from tests.examples import manifests
from tests.examples.example import DEFAULT_GATES, Example


def _scheduled_at(says: str, rule: Rule, schedule: str, message: str) -> Example:
    return Example(
        says=f"RayCronJob: {says}",
        rule=rule,
        good=manifests.cron_job({"schedule": "@every 90m"}),
        bad=manifests.cron_job({"schedule": schedule}),
        path="spec.schedule",
        message=message,
        gates=DEFAULT_GATES,
    )


EXAMPLES = (
    Example(
        says="RayCronJob: a name leaves room for those made from it",
        rule=metadata.TOO_LONG,
        good=manifests.cron_job(name="1" + "a" * 35),
        bad=manifests.cron_job(name="a" * 37),
        path="metadata.name",
        message="RayCronJob name should be no more than 36 characters",
    ),
    _scheduled_at(
        "a schedule has no time zone",
        cron_job.ZONE_IN_SCHEDULE,
        "CRON_TZ=UTC 0 3 * * *",
        "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
    ),
    _scheduled_at("a schedule says something", cron_job.SCHEDULE, "", "invalid cron schedule: empty spec string"),
    _scheduled_at(
        "a schedule has five fields",
        cron_job.SCHEDULE,
        "0  3 * *",
        "invalid cron schedule: expected exactly 5 fields, found 4: [0 3 * *]",
    ),
    _scheduled_at(
        "a schedule's word is known",
        cron_job.SCHEDULE,
        "@reboot",
        "invalid cron schedule: unrecognized descriptor: @reboot",
    ),
)

# The API server has neither a cron parser nor a table of time zones.
UNCHECKED = (
    _scheduled_at(
        "a schedule's fields are in their ranges",
        cron_job.SCHEDULE,
        "0 24 * * *",
        "invalid cron schedule: end of range (24) above maximum (23): 24",
    ),
    Example(
        says="RayCronJob: a time zone is known",
        rule=cron_job.ZONE_UNKNOWN,
        good=manifests.cron_job({"timeZone": "Europe/Berlin"}),
        bad=manifests.cron_job({"timeZone": "Europe/Atlantis"}),
        path="spec.timeZone",
        message="invalid time zone: unknown time zone Europe/Atlantis",
    ),
)
