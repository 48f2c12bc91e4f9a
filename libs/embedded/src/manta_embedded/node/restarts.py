"""When a container that ended is started again. Pure."""

import msgspec


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How long a container that ends again and again waits: a kubelet's 10 s, doubled up to 5 min."""

    first_seconds: float = 10.0
    longest_seconds: float = 300.0
    calm_seconds: float = 600.0  # one that ran for so long begins anew


class BackOff:
    """The waits of one container."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._failures = 0

    def wait_seconds(self, ran_seconds: float) -> float:
        """How long to wait after a life of so many seconds; the first restart is at once."""
        if ran_seconds >= self._pace.calm_seconds:
            self._failures = 0
        self._failures += 1
        if self._failures == 1:
            return 0.0
        return min(self._pace.longest_seconds, self._pace.first_seconds * 2.0 ** min(self._failures - 2, 30))


def is_restarted(policy: str, exit_code: int) -> bool:
    """Whether a container with this policy (its own, or its pod's) is started again."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def backoff_message(seconds: float, container: str, pod: str) -> str:
    """What a waiting container says, as a kubelet does."""
    return f"back-off {_duration(seconds)} restarting failed container={container} pod={pod}"


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    return f"{whole // 60}m{whole % 60}s"
