"""One active watcher among several: whoever owns the only partition reigns, the others stand by."""

import asyncio
import logging
from collections.abc import Iterator

from manta_common.delays import delay_seconds
from manta_common.errors import MantaError
from manta_common.kube.protocol import Kube
from manta_common.ownership.owner import Owner
from manta_common.ownership.settings import Ownership, Times
from manta_common.plane import Means
from manta_common.telemetry.plane import OwnershipMetrics
from manta_watcher.session import Session, Task
from manta_watcher.tally import Tally

SERVICE = "watcher"
THRONE = 0
LONGEST_DELAY_SECONDS = 5.0
LOOK_SECONDS = 0.25
log = logging.getLogger(__name__)


class Watcher:
    """Waits for the throne, reigns while it is ours, and begins anew whenever a session breaks."""

    def __init__(self, means: Means, kube: Kube, task: Task, times: Times | None = None) -> None:
        self._means, self._kube, self._task = means, kube, task
        self.tally = Tally()
        self.session: Session | None = None
        self._reigning: asyncio.Task[None] | None = None
        self._group: asyncio.TaskGroup | None = None
        moves = OwnershipMetrics(
            means.metrics, SERVICE, owned=lambda: len(self.owner.held), members=lambda: self.owner.members
        )
        ownership = Ownership(
            service=SERVICE,
            acquired=self._acquired,
            released=self._released,
            partitions=1,
            times=times or Times(),
            moved=moves.moved,
        )
        self.owner = Owner(means.bus, ownership, clock=means.clock, chance=means.chance)

    @property
    def active(self) -> bool:
        """Whether this replica publishes."""
        return self._reigning is not None

    async def run(self) -> None:
        """Work until `stop`."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            await self.owner.run()

    def stop(self) -> None:
        """Let another replica reign, and let `run` return."""
        self.owner.stop()

    async def _acquired(self, _: int) -> None:
        assert self._group is not None
        self._reigning = self._group.create_task(self._reign())

    async def _released(self, _: int) -> None:
        if self._reigning:
            self._reigning.cancel()
            await asyncio.wait([self._reigning])
        self._reigning = self.session = None
        self.tally.whole = False

    async def _reign(self) -> None:
        """Session after session; none is begun or kept up while the throne is not ours for certain."""
        clock, failures = self._means.clock, 0
        while True:
            if self.owner.may_act(THRONE):
                began = clock.monotonic()
                await self._one_session()
                failures = 0 if clock.monotonic() - began > LONGEST_DELAY_SECONDS else failures
            chance = self._means.chance.random()
            await clock.sleep(delay_seconds(failures, shortest=0.05, longest=LONGEST_DELAY_SECONDS, chance=chance))
            failures += 1

    async def _one_session(self) -> None:
        """A session until it breaks, or until we are told to end."""
        self.tally.sessions += 1
        self.tally.whole = False
        self.session = Session(self._kube, self._means.bus, self._task, self.tally, self._means.tracing)
        # In a task of its own: a group that fails in the moment in which its task is told to end shows its failure in
        # place of that word; and in Python 3.11 a task in which a group has failed looks as if it had been told to.
        playing = asyncio.create_task(self._played(self.session))
        try:
            await asyncio.wait([playing])
        finally:
            playing.cancel()
            await asyncio.wait([playing])
            broken = None if playing.cancelled() else playing.exception()
        try:
            if broken:
                raise broken
        except* MantaError as ended:
            for error in _causes(ended):
                log.warning("session ended", extra={"error": str(error)})

    async def _played(self, session: Session) -> None:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(session.run())
            group.create_task(self._watch_throne(running))

    async def _watch_throne(self, session: asyncio.Task[None]) -> None:
        while not session.done():
            if not self.owner.may_act(THRONE):
                session.cancel()
                return
            await self._means.clock.sleep(LOOK_SECONDS)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What has failed, not where."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _causes(inner)
    else:
        yield error
