"""Foreign errors become ours, and ours travel to whoever asked."""

import nats.errors
import pytest

from manta_common.bus.faults import ApiError, answered_fault, api_fault, error_headers, translated
from manta_common.errors import (
    Conflict,
    MantaError,
    Misconfigured,
    NotFound,
    Refused,
    Rejected,
    Throttled,
    Unreachable,
)


@pytest.mark.parametrize(
    ("code", "err_code", "kind"),
    [
        pytest.param(400, 10071, Conflict, id="wrong last sequence"),
        pytest.param(400, 10164, Conflict, id="wrong last sequence while another is under way"),
        pytest.param(404, 10059, NotFound, id="no stream"),
        pytest.param(404, 10037, NotFound, id="no message"),
        pytest.param(404, 10014, NotFound, id="no consumer"),
        pytest.param(503, 10039, Misconfigured, id="jetstream off for the account"),
        pytest.param(503, 10076, Misconfigured, id="jetstream off"),
        pytest.param(429, 10167, Throttled, id="too many requests"),
        pytest.param(503, 10008, Unreachable, id="temporarily unavailable"),
        pytest.param(503, 10163, Unreachable, id="expected sequence not ready"),
        pytest.param(500, 10052, Refused, id="invalid configuration"),
        pytest.param(400, 10047, Refused, id="no room"),
    ],
)
def test_a_refusal_of_jetstream(code: int, err_code: int, kind: type[MantaError]) -> None:
    error = api_fault(ApiError(code, err_code, "what it said"), "STREAM.INFO.X")
    assert type(error) is kind
    assert "STREAM.INFO.X: what it said" in str(error)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        pytest.param(nats.errors.NoRespondersError(), Unreachable, id="no responders"),
        pytest.param(nats.errors.ConnectionClosedError(), Unreachable, id="closed"),
        pytest.param(ConnectionResetError("reset"), Unreachable, id="reset"),
        pytest.param(TimeoutError(), Unreachable, id="time-out"),
        pytest.param(nats.errors.MaxPayloadError(), Refused, id="too large"),
    ],
)
def test_an_error_of_the_library(raised: Exception, kind: type[MantaError]) -> None:
    with pytest.raises(kind, match="asking"), translated("asking"):
        raise raised


def test_a_mistake_of_ours_is_not_translated() -> None:
    with pytest.raises(KeyError), translated("asking"):
        raise KeyError("x")


def test_an_error_that_is_not_ours_travels_without_its_text() -> None:
    headers = error_headers(ValueError("token=secret"))
    error = answered_fault(headers)
    assert isinstance(error, Refused)
    assert (error.code, str(error)) == (500, "ValueError")


def test_an_error_of_someone_else_who_speaks_the_micro_protocol() -> None:
    error = answered_fault({"Nats-Service-Error": "not today", "Nats-Service-Error-Code": "418"})
    assert isinstance(error, Refused)
    assert (error.code, str(error)) == (418, "not today")


def test_a_code_that_is_no_number_is_500() -> None:
    error = answered_fault({"Nats-Service-Error": "not today", "Nats-Service-Error-Code": "E_TEAPOT"})
    assert isinstance(error, Refused)
    assert error.code == 500


def test_a_rejection_keeps_its_reason() -> None:
    error = answered_fault(error_headers(Rejected("BadEntrypoint", "there is none")))
    assert isinstance(error, Rejected)
    assert (error.reason, str(error)) == ("BadEntrypoint", "there is none")
