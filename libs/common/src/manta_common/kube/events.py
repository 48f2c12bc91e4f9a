"""Tells users what was done: events of events.k8s.io/v1, repeated ones as a series. None is worth a failed pass."""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from manta_common.api.core import ObjectReference
from manta_common.errors import AlreadyExists, MantaError, NotFound, Throttled, Unreachable
from manta_common.keys import Key
from manta_common.kinds import EVENT, Kind
from manta_common.kube.protocol import Kube, MergePatch
from manta_common.kube.series import Ledger, Notice, Series

WINDOW = timedelta(minutes=6)  # client-go's: an event that comes again later is a new one
GAP = timedelta(seconds=10)  # between two writes of one series
AGAIN = timedelta(seconds=10)
TRIES = 12
CAPACITY = 4096
LATE = GAP  # that an event may be because there is more important work
LOOK = timedelta(milliseconds=100)  # how often it is seen whether there still is
CROWD = CAPACITY // 4  # events that wait; more of them are written whatever else there is to do
log = logging.getLogger(__name__)


def reference(kind: Kind, key: Key, uid: str) -> ObjectReference:
    """Which object an event is about."""
    return ObjectReference(
        api_version=kind.api_version, kind=kind.kind, namespace=key.namespace, name=key.name, uid=uid
    )


class Recorder:
    """Takes events at once and writes them in its own time; `run` must be running.

    When the API server cannot be reached events are kept and tried again, as many as there is room for. While there is
    something else to do, what went well is told a little later: nobody waits for that, but for the work.
    """

    def __init__(self, kube: Kube, instance: str, *, capacity: int = CAPACITY, gap: timedelta = GAP) -> None:
        self._kube, self._gap = kube, gap
        self._ledger = Ledger(instance, window=WINDOW, capacity=capacity)
        self._wanted = asyncio.Event()
        self._is_busy: Callable[[], bool] = lambda: False

    def give_way(self, is_busy: Callable[[], bool]) -> None:
        """From now on let the work go before events, while this is so and for a few seconds at most."""
        self._is_busy = is_busy

    def record(self, regarding: ObjectReference, notice: Notice) -> None:
        """Tell something about an object; in the object's namespace, or in `default` if it has none."""
        self._ledger.see(regarding, notice, self._kube.now())
        self._wanted.set()

    @property
    def forgotten(self) -> int:
        """How many events were never written because there was no more room for them."""
        return self._ledger.forgotten

    async def run(self) -> None:
        """Write what there is to write until cancelled."""
        while True:
            self._wanted.clear()
            next_at = await self._write_due(everything=False)
            await self._wait(next_at)

    async def drain(self, *, limit_seconds: float) -> None:
        """Write all that is left, for at most that long."""
        try:
            async with asyncio.timeout(limit_seconds):
                await self._write_due(everything=True)
        except TimeoutError:
            log.warning("events were not written in time", extra={"left": len(self._ledger.waiting())})

    async def _write_due(self, *, everything: bool) -> datetime | None:
        """Write the events whose time has come; when the next one's does."""
        waiting = self._ledger.waiting()
        is_crowded = len(waiting) > CROWD
        now, is_busy = self._kube.now(), self._is_busy()
        for series in waiting:
            if everything or _is_turn(series, now, gives_way=is_busy and not is_crowded):
                await self._write(series)
                now, is_busy = self._kube.now(), self._is_busy()
        return min((series.due_at for series in self._ledger.waiting()), default=None)

    async def _wait(self, next_at: datetime | None) -> None:
        """Until an event is recorded or due; one that came while we wrote is seen at once, unless it gives way."""
        if next_at is not None and next_at <= self._kube.now() and self._is_busy():
            await asyncio.sleep(LOOK.total_seconds())
            return
        seconds = None if next_at is None else max(0.0, (next_at - self._kube.now()).total_seconds())
        try:
            async with asyncio.timeout(seconds):
                await self._wanted.wait()
        except TimeoutError:
            return

    async def _write(self, series: Series) -> None:
        count = series.count
        try:
            await (self._update(series) if series.written else self._create(series))
        except (Throttled, Unreachable) as error:
            self._try_again(series, error)
        except MantaError as error:
            log.warning("event was refused", extra={"key": str(series.key), "error": str(error)})
            series.wrote(count, next_at=self._kube.now() + self._gap)
        else:
            series.wrote(count, next_at=self._kube.now() + self._gap)

    async def _create(self, series: Series) -> None:
        """Its name is computed, so that a second try after a lost answer finds it there already."""
        body = {**series.body, **series.series()}
        try:
            await self._kube.create(EVENT, series.key.namespace, body, msgspec.Raw)
        except AlreadyExists:
            if series.count > 1:
                await self._patch(series)

    async def _update(self, series: Series) -> None:
        """Raise the count; the event itself may be gone by its time to live."""
        try:
            await self._patch(series)
        except NotFound:
            await self._create(series)

    async def _patch(self, series: Series) -> None:
        await self._kube.patch(EVENT, series.key, MergePatch(series.series()), msgspec.Raw)

    def _try_again(self, series: Series, error: MantaError) -> None:
        series.tries += 1
        series.due_at = self._kube.now() + AGAIN
        if series.tries >= TRIES:
            log.warning("event is given up", extra={"key": str(series.key), "error": str(error)})
            series.wrote(series.count, next_at=series.due_at)


def _is_turn(series: Series, now: datetime, *, gives_way: bool) -> bool:
    """Whether an event is due, and does not give way to anything."""
    late = now - series.due_at
    if late >= LATE or series.body["type"] != "Normal":
        gives_way = False
    return late >= timedelta() and not gives_way
