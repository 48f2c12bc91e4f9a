"""Serve's proxy in one head pod: whether it takes requests."""

from typing import NamedTuple

from manta_common.clock import Clock
from manta_common.errors import MantaError
from manta_dashboard_gateway.pace import Course, Pace, delay_seconds
from manta_dashboard_gateway.places import Target
from manta_dashboard_gateway.ray.dashboard import Tell
from manta_dashboard_gateway.ray.transport import Late, Request, Transport

HEALTHY = 200


class Asking(NamedTuple):
    """By what proxies are asked, how often, who is told, and how long one may take."""

    transport: Transport
    pace: Pace
    clock: Clock
    tell: Tell
    limit_seconds: float = 2.0


class HeadProxy:
    """Asks one proxy, and one that never answers less and less often; one that refuses costs nothing."""

    def __init__(self, target: Target, asking: Asking) -> None:
        self.target = target
        self.course = Course()
        self._request = Request(call="health", path="/-/healthz", limit_seconds=asking.limit_seconds)
        self._transport, self._pace, self._clock, self._tell = asking.transport, asking.pace, asking.clock, asking.tell
        self._due_at = 0.0

    @property
    def is_due(self) -> bool:
        """Whether it may be asked now."""
        return self._clock.monotonic() >= self._due_at

    async def problem(self) -> str:
        """Why it takes no requests; nothing when it does."""
        began, outcome, problem, late = self._clock.monotonic(), "cancelled", "", False
        try:
            answer = await self._transport.send(self.target, self._request, wary=self.course.failures > 0)
        except MantaError as error:
            # An error that has no words is an error all the same: only nothing at all means that it is well.
            outcome, problem, late = "unreachable", str(error) or type(error).__name__, isinstance(error, Late)
        else:
            outcome, problem = ("ok", "") if answer.code == HEALTHY else ("refused", f"it answered {answer.code}")
        finally:
            self._tell(self._request.call, outcome, self._clock.monotonic() - began)
            self._learn(late=late)
        return problem

    def _learn(self, *, late: bool) -> None:
        if not late:
            self.course, self._due_at = self.course.answered(), 0.0
            return
        self.course = self.course.failed(self._pace)
        self._due_at = self._clock.monotonic() + delay_seconds(self._pace, self.course, "usual", chance=0)
