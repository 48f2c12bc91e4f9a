"""Every foreign error becomes one of ours, and the one that callers can act on."""

import ssl

import aiohttp
import msgspec
import pytest

from manta_common import errors
from manta_common.kinds import POD, RAYCLUSTER, Kind
from manta_common.kube import faults
from manta_common.kube.protocol import KindMissing


def status(reason: str = "", message: str = "said", **details: object) -> bytes:
    return msgspec.json.encode({"kind": "Status", "reason": reason, "message": message, "details": details})


TOO_LARGE = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
FIELD = [{"reason": "FieldValueInvalid", "message": "no", "field": "spec"}]


@pytest.mark.parametrize(
    ("code", "body", "error"),
    [
        pytest.param(400, status("BadRequest"), errors.Refused, id="a bad request"),
        pytest.param(401, status("Unauthorized"), errors.Refused, id="nobody we know"),
        pytest.param(403, status("Forbidden"), errors.Refused, id="forbidden, or over the quota"),
        pytest.param(404, status("NotFound", name="a", kind="pods"), errors.NotFound, id="no such object"),
        pytest.param(404, status("NotFound"), KindMissing, id="no such kind in a group that exists"),
        pytest.param(404, b"404 page not found\n", KindMissing, id="no such group"),
        pytest.param(405, status("MethodNotAllowed"), errors.Refused, id="a verb it does not have"),
        pytest.param(408, b"", errors.Unreachable, id="the server did not wait for the request"),
        pytest.param(409, status("AlreadyExists"), errors.AlreadyExists, id="the name is taken"),
        pytest.param(409, status("Conflict"), errors.Conflict, id="someone wrote first"),
        pytest.param(409, b"", errors.Conflict, id="a conflict without a word"),
        pytest.param(410, status("Expired"), errors.Expired, id="the version is gone"),
        pytest.param(413, status("RequestEntityTooLarge"), errors.Refused, id="too large"),
        pytest.param(415, status("UnsupportedMediaType"), errors.Refused, id="a patch it does not know"),
        pytest.param(422, status("Invalid", causes=FIELD), errors.Refused, id="not valid"),
        pytest.param(429, status("TooManyRequests"), errors.Throttled, id="too many requests"),
        pytest.param(500, status("InternalError"), errors.Unreachable, id="a web hook that does not answer"),
        pytest.param(502, b"<html>bad gateway</html>", errors.Unreachable, id="the page of a proxy"),
        pytest.param(503, status("ServiceUnavailable"), errors.Unreachable, id="not ready"),
        pytest.param(504, status("Timeout"), errors.Unreachable, id="timed out on the other side"),
        pytest.param(504, status("Timeout", causes=TOO_LARGE), errors.Expired, id="a version of the future"),
        pytest.param(301, b"", errors.Unreachable, id="sent elsewhere"),
    ],
)
def test_an_answer(code: int, body: bytes, error: type[errors.MantaError]) -> None:
    found = faults.from_answer(POD, code, headers={}, body=body)
    assert type(found) is error
    assert str(found)


def test_what_the_server_said_is_kept_word_for_word() -> None:
    found = faults.from_answer(POD, 403, headers={}, body=status("Forbidden", 'pods "x" is forbidden: exceeded quota'))
    assert isinstance(found, errors.Refused)
    assert (found.code, found.reason, str(found)) == (403, "Forbidden", 'pods "x" is forbidden: exceeded quota')


@pytest.mark.parametrize(
    ("kind", "named"), [(RAYCLUSTER, "rayclusters.ray.io in version v1"), (POD, "pods in version v1")]
)
def test_a_missing_kind_is_named_with_what_to_do(kind: Kind, named: str) -> None:
    text = str(faults.from_answer(kind, 404, headers={}, body=b"404 page not found\n"))
    assert named in text
    assert "install its CRD" in text


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        pytest.param({"Retry-After": "7"}, status(), 7, id="by the header"),
        pytest.param({}, status(retryAfterSeconds=3), 3, id="by the details"),
        pytest.param({"Retry-After": "Mon, 16 Nov 2026 04:52:27 GMT"}, status(), 1, id="a date is not understood"),
        pytest.param({}, b"", 1, id="not said"),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], body: bytes, seconds: float) -> None:
    found = faults.from_answer(POD, 429, headers=headers, body=body)
    assert isinstance(found, errors.Throttled)
    assert found.retry_after_seconds == seconds


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param(status("Invalid", "rejected"), errors.Conflict, id="an operation failed"),
        pytest.param(status("Invalid", causes=FIELD), errors.Refused, id="the result is not valid"),
    ],
)
def test_a_json_patch_that_cannot_be_done_is_a_conflict(body: bytes, error: type[errors.MantaError]) -> None:
    assert type(faults.from_answer(POD, 422, headers={}, body=body, json_patch=True)) is error


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(),
        aiohttp.ServerDisconnectedError(),
        aiohttp.ClientPayloadError("cut"),
        aiohttp.ServerTimeoutError("slow"),
        ConnectionResetError("reset"),
        ssl.SSLError("handshake"),
        aiohttp.InvalidURL("nowhere"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_the_network_are_unreachable(error: Exception) -> None:
    with pytest.raises(errors.Unreachable, match=r"get pods: .+") as found, faults.translated("get pods"):
        raise error
    assert found.value.__cause__ is error


def test_our_own_errors_pass() -> None:
    with pytest.raises(errors.Conflict), faults.translated("get pods"):
        raise errors.Conflict("first")
