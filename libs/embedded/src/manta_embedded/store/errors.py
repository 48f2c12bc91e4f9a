"""What the API answers when something goes wrong: a `Status` with the words of the real server."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from manta_embedded.store.kinds import Served


class Cause(msgspec.Struct, frozen=True):
    """One of the reasons behind a refusal; the message begins with what is wrong, not with the field."""

    reason: str
    message: str
    field: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class StatusError(Exception):
    """A call that failed, as the API server tells it."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details or {}
        self.metadata: dict[str, Any] = {}

    def status(self) -> dict[str, Any]:
        """The `Status` object of the answer."""
        found: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        found |= {"message": self.message, "code": self.code} | ({"reason": self.reason} if self.reason else {})
        return found | ({"details": self.details} if self.details else {})


def not_found(served: "Served", name: str) -> StatusError:
    """There is no such object."""
    return StatusError(404, "NotFound", f'{served.qualified} "{name}" not found', _about(served, name))


def kind_missing() -> StatusError:
    """The API has nothing at this path."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def already_exists(served: "Served", name: str) -> StatusError:
    """The name is taken."""
    return StatusError(409, "AlreadyExists", f'{served.qualified} "{name}" already exists', _about(served, name))


def conflict(served: "Served", name: str, why: str) -> StatusError:
    """Someone wrote first, or the object is another."""
    text = f'Operation cannot be fulfilled on {served.qualified} "{name}": {why}'
    return StatusError(409, "Conflict", text, _about(served, name))


def precondition(served: "Served", name: str, why: str) -> StatusError:
    """The object is not the one that a deletion is meant for; the server names it by its kind here."""
    text = f'Operation cannot be fulfilled on {served.qualified_kind} "{name}": {why}'
    return StatusError(409, "Conflict", text, {**_about(served, name), "kind": served.kind.kind})


def forbidden(served: "Served", name: str, why: str, causes: Sequence[Cause] = ()) -> StatusError:
    """Understood and refused."""
    details = _about(served, name) | ({"causes": _causes(causes)} if causes else {})
    return StatusError(403, "Forbidden", f'{served.qualified} "{name}" is forbidden: {why}', details)


def invalid(served: "Served", name: str, causes: Sequence[Cause]) -> StatusError:
    """The object breaks rules; all of them are told."""
    unique = list(dict.fromkeys(str(cause) for cause in causes))
    text = unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
    details = {**_about(served, name), "kind": served.kind.kind, "causes": _causes(causes)}
    return StatusError(422, "Invalid", f'{served.qualified_kind} "{name}" is invalid: {text}', details)


def bad_request(text: str) -> StatusError:
    """What was sent cannot be understood."""
    return StatusError(400, "BadRequest", text)


def unconditional(served: "Served", name: str) -> StatusError:
    """An update that does not say which version it is of, where it must; the server names the resource here."""
    cause = Cause("FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion")
    details = {**_about(served, name), "causes": _causes([cause])}
    return StatusError(422, "Invalid", f'{served.qualified} "{name}" is invalid: {cause}', details)


def unprocessable(text: str) -> StatusError:
    """A patch that cannot be carried out on this object."""
    return StatusError(422, "Invalid", text)


def expired(text: str) -> StatusError:
    """The version that was asked for is forgotten."""
    return StatusError(410, "Expired", text)


def too_large(limit: int) -> StatusError:
    """A body beyond what the API takes."""
    text = f"Request entity too large: limit is {limit}"
    return StatusError(413, "RequestEntityTooLarge", text)


def _about(served: "Served", name: str) -> dict[str, Any]:
    about = {"name": name, "group": served.kind.group, "kind": served.kind.plural}
    return {field: value for field, value in about.items() if value}


def _causes(causes: Sequence[Cause]) -> list[dict[str, str]]:
    return [msgspec.to_builtins(cause) for cause in causes]
