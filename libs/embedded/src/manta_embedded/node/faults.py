"""Why a container waits, in the words of a kubelet where it has some."""

from manta_common.errors import MantaError


class CannotStart(MantaError):
    """A container cannot be started (yet); `reason` is what its state says, one CamelCase word."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


def config_error(message: str) -> CannotStart:
    """Something that its spec names is not there."""
    return CannotStart("CreateContainerConfigError", message)


def no_image(message: str) -> CannotStart:
    """What would be in the image is not on this machine."""
    return CannotStart("ErrImagePull", message)
