"""The time zone of schedules that name none."""

from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

from manta_job_reconciler.zone import local_zone

WINTER, SUMMER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)


def test_a_name_counts() -> None:
    assert WINTER.astimezone(local_zone("Asia/Tokyo")).utcoffset() == timedelta(hours=9)


def test_the_machines_own_zone_knows_summer_and_winter(tmp_path: Path) -> None:
    machine = tmp_path / "localtime"
    machine.write_bytes((resources.files("tzdata.zoneinfo.Europe") / "Berlin").read_bytes())
    zone = local_zone("", machine)
    assert [at.astimezone(zone).hour for at in (WINTER, SUMMER)] == [1, 2]


def test_local_means_the_machines_own(tmp_path: Path) -> None:
    assert local_zone("Local", tmp_path / "none") is UTC


def test_a_machine_that_tells_no_zone_has_utc(tmp_path: Path) -> None:
    strange = tmp_path / "localtime"
    strange.write_text("no zone at all")
    assert local_zone("", strange) is UTC
