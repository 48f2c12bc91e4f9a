"""NATS errors become Manta's, here and nowhere else."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec
import nats.errors

from manta_common.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    MantaError,
    Misconfigured,
    NotFound,
    Refused,
    Rejected,
    Retry,
    Throttled,
    Unreachable,
)

# https://github.com/nats-io/nats-server/blob/main/server/errors.json
WRONG_LAST_SEQUENCE = {10071, 10164}  # the second: another write to the subject is under way (replicated streams)
NOT_FOUND = {10014, 10037, 10059}  # consumer, message, stream
NO_JETSTREAM = {10039, 10076}
TOO_MANY_REQUESTS = 10167
SUBJECTS_OVERLAP = 10065
TOO_FEW_SERVERS = {10005, 10074}  # no suitable peers; not a cluster at all
RETRY_AFTER_SECONDS = 0.1
SERVER_TROUBLE = 503  # and above: no leader, no quorum, shutting down; it passes

ERROR = "Nats-Service-Error"  # the micro protocol's words for an error that is an answer
ERROR_CODE = "Nats-Service-Error-Code"
ERROR_TYPE = "Manta-Error"
ERROR_REASON = "Manta-Error-Reason"
MOST_CHARACTERS = 8192  # of an error's text
CODES: Mapping[type[BaseException], int] = {
    NotFound: 404,
    Conflict: 409,
    AlreadyExists: 409,
    Expired: 410,
    Rejected: 422,
    Throttled: 429,
    Unreachable: 503,
}


class NobodyThere(Unreachable):
    """NATS is there, but nobody listens on the subject: no such stream or service, or not at the moment."""


class ApiError(msgspec.Struct, frozen=True):
    """What JetStream answers instead of doing it."""

    code: int = 0
    err_code: int = 0
    description: str = ""


def api_fault(error: ApiError, what: str) -> MantaError:
    """The error that a JetStream refusal stands for."""
    text = f"{what}: {error.description} ({error.err_code})"
    if error.err_code in WRONG_LAST_SEQUENCE:
        return Conflict(text)
    if error.err_code in NOT_FOUND:
        return NotFound(text)
    if error.err_code in NO_JETSTREAM:
        return Misconfigured(
            f"{text}. JetStream is off for this account: add `jetstream {{}}` to the configuration of the server,"
            " or `jetstream: enabled` to the account"
        )
    if error.err_code == TOO_MANY_REQUESTS:
        return Throttled(text, retry_after_seconds=RETRY_AFTER_SECONDS)
    if error.code >= SERVER_TROUBLE:
        return Unreachable(text)
    return Refused(error.code, str(error.err_code), text)


@contextmanager
def translated(what: str) -> Iterator[None]:
    """A block in which errors of the NATS client and of the network become Manta's."""
    try:
        yield
    except nats.errors.MaxPayloadError as error:
        raise too_large(what) from error
    except (nats.errors.Error, OSError, TimeoutError) as error:
        raise Unreachable(f"{what}: {error or type(error).__name__}") from error


def too_large(what: str) -> Refused:
    """The error for a body that NATS does not take."""
    return Refused(413, "TooLarge", f"{what}: the body is larger than the server's max_payload")


def error_headers(error: BaseException) -> dict[str, str]:
    """The headers that carry an error to whoever asked; of one that is not Manta's, its name and no more."""
    code = CODES.get(type(error), 500)
    headers = {ERROR: str(error), ERROR_TYPE: type(error).__name__}
    match error:
        case Refused():
            code, headers[ERROR_REASON] = error.code, error.reason
        case Rejected():
            headers[ERROR_REASON] = error.reason
        case MantaError():
            pass
        case _:
            headers[ERROR] = type(error).__name__
    return {name: _line(text) for name, text in headers.items()} | {ERROR_CODE: str(code)}


def _line(text: str) -> str:
    """A text as the value of a header: what a dashboard or a user said must not become another header."""
    return " ".join(text.encode(errors="replace").decode().split())[:MOST_CHARACTERS]


def answered_fault(headers: Mapping[str, str]) -> MantaError:
    """The error that the headers of an answer carry."""
    text, name, reason = headers[ERROR], headers.get(ERROR_TYPE, ""), headers.get(ERROR_REASON, "")
    if name == "Rejected":
        return Rejected(reason, text)
    if name == "Throttled":
        return Throttled(text, retry_after_seconds=RETRY_AFTER_SECONDS)
    plain = {kind.__name__: kind for kind in (NotFound, Conflict, AlreadyExists, Expired, Unreachable, Retry)}
    if name in plain:
        return plain[name](text)
    code = headers.get(ERROR_CODE, "")
    return Refused(int(code) if code.isdecimal() else 500, reason or name, text)
