"""The errors of Manta. Foreign ones are translated once, where they come in; the worker alone catches what is left."""


class MantaError(Exception):
    """Something that Manta knows how to go on from."""


class Retry(MantaError):
    """Try again, later and later."""


class Conflict(Retry):
    """Someone wrote first: soon, quietly."""


class NotCaughtUp(Retry):
    """Our view is behind our own write: soon, quietly."""


class NotFound(Retry):
    """There is no such object (any more)."""


class AlreadyExists(Retry):
    """There is such an object already; whether it is ours must be looked at."""


class Expired(Retry):
    """The version that was asked for is gone: list again."""


class Throttled(Retry):
    """Too many requests: not before that many seconds have passed."""

    def __init__(self, message: str, *, retry_after_seconds: float) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class Unreachable(Retry):
    """No answer, or none that counts. Whether a write was carried out is not known."""


class Refused(Retry):
    """The API server understood and said no (forbidden, invalid, quota): it may say yes when something has changed."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason = code, reason


class Rejected(MantaError):
    """The user's object cannot be served: a condition, an event, and no further try until it changes."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Misconfigured(MantaError):
    """Manta itself cannot run like this: a person must change a setting. The message names it and the fix."""
