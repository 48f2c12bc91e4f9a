"""What can go wrong with a command, and the exit code that says so."""

from typing import Final

from manta_common.errors import MantaError, Misconfigured, NotFound, Refused, Unreachable

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
UNAVAILABLE: Final = 69  # these three are of sysexits.h
FORBIDDEN: Final = 77
MISCONFIGURED: Final = 78
INTERRUPTED: Final = 130  # 128 + SIGINT, as of every shell

MEANINGS: Final = {
    OK: "done; for `submit`, the job succeeded; for `doctor`, nothing has to be changed",
    FAILED: "it could not be done: there is no such object, the API server refused it, or the job failed",
    USAGE: "the command line is not right",
    UNAVAILABLE: "the API server does not answer, or the service is not built",
    FORBIDDEN: "the API server does not allow it to this user",
    MISCONFIGURED: "the kubeconfig or a setting cannot be used",
    INTERRUPTED: "ended by Ctrl-C",
}


class Failed(Exception):
    """A command cannot go on; the message says why and what to do."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def told(error: MantaError | Failed) -> tuple[str, int]:
    """The sentence and the exit code for an error."""
    match error:
        case Failed():
            return str(error), error.code
        case Misconfigured():
            return str(error), MISCONFIGURED
        case Refused() if error.code in (401, 403):
            return f"{error}; ask the cluster's administrator for that right", FORBIDDEN
        case Unreachable():
            return f"{error}; check that the cluster runs and that the kubeconfig names the right one", UNAVAILABLE
        case NotFound():
            return str(error), FAILED
    return str(error), FAILED
