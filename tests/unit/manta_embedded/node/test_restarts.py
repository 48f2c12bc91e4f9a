"""When containers are started again."""

import pytest

from manta_embedded.node.restarts import BackOff, Pace, backoff_message, is_restarted


def test_waits_grow_to_five_minutes() -> None:
    backoff = BackOff(Pace())
    assert [backoff.wait_seconds(1) for _ in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]


def test_a_long_life_begins_anew() -> None:
    backoff = BackOff(Pace())
    assert [backoff.wait_seconds(ran) for ran in (1, 1, 1, 700, 1)] == [0, 10, 20, 0, 10]


@pytest.mark.parametrize(
    ("policy", "code", "wanted"),
    [
        ("Always", 0, True),
        ("Always", 1, True),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("Never", 1, False),
    ],
)
def test_policies(policy: str, code: int, wanted: bool) -> None:
    assert is_restarted(policy, code) is wanted


def test_the_message_is_a_kubelets() -> None:
    assert backoff_message(80, "main", "p_ns(uid)") == "back-off 1m20s restarting failed container=main pod=p_ns(uid)"
