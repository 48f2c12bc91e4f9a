"""What the answers of probes come to."""

from typing import Any

import pytest

from manta_embedded.node.faults import CannotStart
from manta_embedded.node.probes import Probe, Tally, probes, wait_seconds


@pytest.mark.parametrize(
    ("probe", "answers", "changes"),
    [
        pytest.param(Probe(purpose="readiness"), "+", "1", id="ready at once"),
        pytest.param(Probe(purpose="readiness", successes=2), "+-++", "0001", id="ready after two in a row"),
        pytest.param(Probe(purpose="readiness", failures=2), "+--+", "1011", id="unready after two, ready again"),
        pytest.param(Probe(purpose="readiness"), "----", "0000", id="never ready is no change"),
        pytest.param(Probe(purpose="liveness", failures=2), "+-+--", "00001", id="dead after two in a row"),
        pytest.param(Probe(purpose="startup", failures=3), "---", "001", id="never started"),
        pytest.param(Probe(purpose="startup", failures=3), "--+", "001", id="started late"),
    ],
)
def test_tallies(probe: Probe, answers: str, changes: str) -> None:
    tally = Tally(probe)
    assert "".join(str(int(tally.count(success=answer == "+"))) for answer in answers) == changes


@pytest.mark.parametrize(
    ("probe", "passes", "seconds"),
    [
        pytest.param(Probe(purpose="readiness", command=("true",)), False, 2, id="awaited"),
        pytest.param(Probe(purpose="readiness", scheme="http"), False, 0.5, id="awaited, and cheap to ask"),
        pytest.param(
            Probe(purpose="readiness", command=("true",), period_seconds=1), False, 1, id="awaited, asked often anyway"
        ),
        pytest.param(Probe(purpose="readiness"), True, 10, id="ready"),
        pytest.param(Probe(purpose="liveness"), False, 10, id="of its life"),
    ],
)
def test_when_it_is_asked_again(probe: Probe, passes: bool, seconds: float) -> None:
    assert wait_seconds(probe, passes=passes) == seconds


def test_readiness_may_come_before_the_delay_is_over() -> None:
    ready, alive = (Probe(purpose=purpose, delay_seconds=10) for purpose in ("readiness", "liveness"))
    assert (ready.first_seconds, alive.first_seconds) == (0, 10)
    answers = [(success, seconds) for success in (True, False) for seconds in (1, 10)]
    assert [ready.counts(success=success, after_seconds=seconds) for success, seconds in answers] == [
        True,
        True,
        False,
        True,
    ]


def test_defaults_and_named_ports() -> None:
    container: dict[str, Any] = {
        "name": "main",
        "ports": [{"name": "web", "containerPort": 8000}],
        "readinessProbe": {"httpGet": {"port": "web", "httpHeaders": [{"name": "X", "value": "y"}]}},
        "livenessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 5, "failureThreshold": 120},
        "startupProbe": {"tcpSocket": {"port": "81", "host": "h"}, "timeoutSeconds": 4},
    }
    assert probes(container) == [
        Probe(purpose="startup", port=81, host="h", limit_seconds=4),
        Probe(purpose="readiness", scheme="http", port=8000, path="/", headers=(("X", "y"),)),
        Probe(purpose="liveness", command=("true",), period_seconds=5, failures=120),
    ]


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        ({"httpGet": {"port": "none"}}, 'container "main" has no port named "none"'),
        ({"grpc": {"port": 1}}, "livenessProbe: standalone knows exec, httpGet and tcpSocket, not grpc"),
    ],
)
def test_bad_probes(probe: dict[str, Any], words: str) -> None:
    with pytest.raises(CannotStart, match=words):
        probes({"name": "main", "livenessProbe": probe})
