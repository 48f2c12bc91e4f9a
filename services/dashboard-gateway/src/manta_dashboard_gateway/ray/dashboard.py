"""One cluster's dashboard: one poll and one command at a time, and how it goes with it."""

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from manta_common.clock import Clock
from manta_common.errors import MantaError, Refused, Unreachable
from manta_dashboard_gateway.credentials import Unauthorised
from manta_dashboard_gateway.pace import Breaker, Course, Pace
from manta_dashboard_gateway.places import Target
from manta_dashboard_gateway.ray.transport import Answer, Request, Transport

T = TypeVar("T")
log = logging.getLogger(__name__)
Tell = Callable[[str, str, float], None]  # call, outcome, seconds


class Dashboard:
    """Asks one dashboard. Its course is shared by polls and commands: a command that is answered ends a bad time."""

    def __init__(self, target: Target, transport: Transport, *, pace: Pace, clock: Clock, tell: Tell) -> None:
        self.target = target
        self.course = Course()
        self.last_error = ""
        self._transport, self._pace, self._clock, self._tell = transport, pace, clock, tell
        self._polling, self._commanding = asyncio.Lock(), asyncio.Lock()

    @property
    def breaker(self) -> Breaker:
        """Whether questions are let through."""
        return self.course.breaker(asking=self._polling.locked() or self._commanding.locked())

    async def poll(self, request: Request, read: Callable[[Answer], T]) -> T:
        """Ask as part of a poll, and read the answer; one that cannot be read counts as none."""
        async with self._polling:
            return await self._ask(request, read)

    async def command(self, request: Request, read: Callable[[Answer], T]) -> T:
        """The same for somebody who waits; never held up by a poll."""
        async with self._commanding:
            return await self._ask(request, read)

    async def _ask(self, request: Request, read: Callable[[Answer], T]) -> T:
        began, outcome = self._clock.monotonic(), "cancelled"
        try:
            answer = read(await self._transport.send(self.target, request, wary=self.course.failures > 0))
            outcome = "ok"
            self._answered()
        except Unreachable as error:
            outcome = "unreachable"
            self._failed(error)
            raise
        except Refused as error:
            outcome = "unauthorised" if isinstance(error, Unauthorised) else "refused"
            if error.code >= 500 or isinstance(error, Unauthorised):
                self._failed(error)
            else:
                self._answered()
            raise
        finally:
            self._tell(request.call, outcome, self._clock.monotonic() - began)
        return answer

    def _answered(self) -> None:
        if self.course.broken:
            log.info("dashboard answers again", extra={"cluster": str(self.target.cluster)})
        self.course, self.last_error = self.course.answered(), ""

    def _failed(self, error: MantaError) -> None:
        before, self.course, self.last_error = self.course, self.course.failed(self._pace), str(error)
        if self.course.broken and not before.broken:
            log.warning("dashboard does not answer", extra={"cluster": str(self.target.cluster), "error": str(error)})
