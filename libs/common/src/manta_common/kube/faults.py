"""Foreign errors become ours here and nowhere else: answers of the API server, of aiohttp, and of the network."""

import contextlib
from collections.abc import Iterator, Mapping

import aiohttp
import msgspec
from msgspec import field

from manta_common.api.wire import Wire
from manta_common.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    MantaError,
    NotFound,
    Refused,
    Rejected,
    Throttled,
    Unreachable,
)
from manta_common.kinds import Kind
from manta_common.kube.protocol import KindMissing

RETRY_AFTER_SECONDS = 1.0  # when a refusal does not say
SHOWN_CHARACTERS = 300


class Cause(Wire, frozen=True, kw_only=True):
    """One of the reasons behind a refusal."""

    reason: str = ""
    message: str = ""


class Details(Wire, frozen=True, kw_only=True):
    """What a refusal is about."""

    name: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: float = 0.0


class Failure(Wire, frozen=True, kw_only=True):
    """The API server's `Status` of something that went wrong."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details = field(default_factory=Details)


def from_answer(
    kind: Kind, code: int, *, headers: Mapping[str, str], body: bytes, json_patch: bool = False
) -> MantaError:
    """The error that an answer other than success means."""
    try:
        failure = msgspec.json.decode(body, type=Failure)
    except msgspec.DecodeError:  # not from an API server's own handlers: a text, or the page of a proxy
        failure = Failure(message=body.decode(errors="replace").strip()[:SHOWN_CHARACTERS])
    if code == 429:
        return Throttled(failure.message, retry_after_seconds=_retry_after(headers, failure))
    if json_patch and code == 422 and not failure.details.causes:
        # An operation could not be done: the same answer for a failed test and for a path that is not there
        # (kubernetes/staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go, applyJSPatch).
        return Conflict("the object is not as the JSON patch expects it")
    return from_failure(kind, msgspec.structs.replace(failure, code=code))


def from_failure(kind: Kind, failure: Failure) -> MantaError:
    """The error that a `Status` means; also that of an ERROR line of a watch."""
    text = failure.message or f"the API server answered with code {failure.code}"
    if failure.code == 410 or any(cause.reason == "ResourceVersionTooLarge" for cause in failure.details.causes):
        return Expired(text)
    match failure.code:
        case 404:
            return NotFound(text) if failure.details.name else KindMissing(_missing(kind))
        case 409:
            return AlreadyExists(text) if failure.reason == "AlreadyExists" else Conflict(text)
        case 429:
            return Throttled(text, retry_after_seconds=_retry_after({}, failure))
        case code if 400 <= code < 500 and code != 408:
            return Refused(code, failure.reason, text)
    return Unreachable(text)


def unreadable(kind: Kind, error: msgspec.DecodeError) -> MantaError:
    """An object that does not fit our type is Rejected; bytes that are no JSON are no answer at all."""
    if isinstance(error, msgspec.ValidationError):
        return Rejected("Unreadable", f"{kind.kind} cannot be read: {error}")
    return Unreachable(f"the answer for {kind.plural} is not JSON: {error}")


@contextlib.contextmanager
def translated(what: str) -> Iterator[None]:
    """Errors of aiohttp and of the network become Unreachable."""
    try:
        yield
    except TimeoutError as error:
        raise Unreachable(f"{what}: no answer in time") from error
    except (aiohttp.ClientError, OSError) as error:
        raise Unreachable(f"{what}: {error or type(error).__name__}") from error


def _missing(kind: Kind) -> str:
    where = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    return (
        f"the API server does not serve {where} in version {kind.version}; if it is a custom resource, install its CRD"
    )


def _retry_after(headers: Mapping[str, str], failure: Failure) -> float:
    text = headers.get("Retry-After", "")
    if text.isdigit():
        return float(text)
    return failure.details.retry_after_seconds or RETRY_AFTER_SECONDS
