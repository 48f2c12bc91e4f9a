"""Which reports a reader can tell apart, and that they survive the way over the bus."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from manta_common.bus.channel import State
from manta_common.dashboard.reports import (
    JOB_INFO,
    ApplicationReport,
    JobReport,
    ProxyReport,
    ServeReport,
    Trouble,
    is_same,
)
from manta_common.keys import Key

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=3)
TROUBLE = Trouble(kind="unreachable", since=NOW, message="no answer")
RUNNING = JobReport(job_uid="u", cluster_uid="c", job_id="j", asked_at=NOW, status="RUNNING", trouble=TROUBLE)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        pytest.param({"asked_at": LATER}, True, id="asked later"),
        pytest.param({"trouble": Trouble(kind="unreachable", since=NOW, message="other")}, True, id="other words"),
        pytest.param({"trouble": Trouble(kind="unreachable", since=LATER, message="")}, False, id="new trouble"),
        pytest.param({"trouble": Trouble(kind="not_found", since=NOW)}, False, id="another kind of trouble"),
        pytest.param({"trouble": None}, False, id="no trouble any more"),
        pytest.param({"status": "FAILED"}, False, id="another status"),
        pytest.param({"message": "so far"}, False, id="another message"),
        pytest.param({"driver_exit_code": 0}, False, id="an exit code"),
        pytest.param({"job_uid": "other"}, False, id="another RayJob of the name"),
        pytest.param({"cluster_uid": "other"}, False, id="another cluster of the name"),
        pytest.param({"job_id": "other"}, False, id="another try"),
    ],
)
def test_a_report_is_news_when_a_reader_can_tell(changes: dict[str, object], same: bool) -> None:
    assert is_same(RUNNING, msgspec.structs.replace(RUNNING, **changes)) is same


PROXY = ProxyReport(pod="p", address="10.0.0.7:8000", healthy=False, since=NOW, message="refused")
SERVED = ServeReport(cluster_uid="c", asked_at=NOW, trouble=TROUBLE, proxy=PROXY)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        pytest.param({"asked_at": LATER}, True, id="asked later"),
        pytest.param({"proxy": msgspec.structs.replace(PROXY, message="late")}, True, id="other words"),
        pytest.param({"proxy": msgspec.structs.replace(PROXY, healthy=True)}, False, id="the proxy is well"),
        pytest.param({"proxy": msgspec.structs.replace(PROXY, since=LATER)}, False, id="not well again"),
        pytest.param({"proxy": msgspec.structs.replace(PROXY, address="other")}, False, id="another head"),
        pytest.param({"proxy": None}, False, id="nobody wants to know"),
        pytest.param({"trouble": None}, False, id="no trouble any more"),
        pytest.param({"applications": {"a": ApplicationReport(config={"name": "a"})}}, False, id="an application"),
        pytest.param({"target_capacity": 50.0}, False, id="another capacity"),
    ],
)
def test_a_report_of_serve_is_news_when_a_reader_can_tell(changes: dict[str, object], same: bool) -> None:
    assert is_same(SERVED, msgspec.structs.replace(SERVED, **changes)) is same


def test_the_first_report_is_news() -> None:
    assert not is_same(None, RUNNING)


def test_applications_are_no_jobs() -> None:
    assert not is_same(RUNNING, ServeReport(cluster_uid="c", asked_at=NOW))


@pytest.mark.parametrize(
    ("status", "terminal"),
    [
        ("SUCCEEDED", True),
        ("FAILED", True),
        ("STOPPED", True),
        ("RUNNING", False),
        ("PENDING", False),
        ("", False),
        ("PAUSED_BY_A_RAY_OF_THE_FUTURE", False),
    ],
)
def test_only_known_ends_are_ends(status: str, terminal: bool) -> None:
    assert msgspec.structs.replace(RUNNING, status=status).is_terminal is terminal


def test_a_report_is_read_back_as_it_was_written() -> None:
    state = State(key=Key("ns", "job"), uid="u", version="7", object=RUNNING)
    assert JOB_INFO.decode(JOB_INFO.encode(state)) == state
    assert JOB_INFO.subject(3, state.key) == "manta.v1.state.3.plain.jobinfo.ns.job"
