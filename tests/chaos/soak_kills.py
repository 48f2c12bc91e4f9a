"""What happens to the services of a soak: one after the other is killed, NATS too, and they are looked at meanwhile."""

import collections
import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tests.chaos.soak_services import Fleet, Replica
from tests.chaos.soak_sockets import connections
from tests.parts.nats import Nats
from tests.parts.process import PartFailed

NATS: Final = "nats"
PAUSE_SECONDS: Final = 4.0  # between two deaths, beside the time that the dead need to come back
# In turn a process is back before anyone has missed it, and long after its lease is over, so that others do its work.
AWAY_SECONDS: Final = (0.0, 8.0)
NATS_AWAY_SECONDS: Final = (0.0, 3.0)
SAMPLE_SECONDS: Final = 1.0


class Beside:
    """Something that goes on in a thread of its own; what goes wrong there is raised by `check` and at the end."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self._work: concurrent.futures.Future[None] | None = None

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """From here to the end of the block."""
        with concurrent.futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="beside") as thread:
            self._work = thread.submit(self.run)
            try:
                yield
            finally:
                self.over.set()
        self.check()

    def check(self) -> None:
        """Raise what has gone wrong, if anything has."""
        if self._work and self._work.done():
            self._work.result()

    def run(self) -> None:
        """Until it is over."""
        raise NotImplementedError


class Reaper(Beside):
    """Kills the victims and NATS in turn, and brings each back before the next one dies."""

    def __init__(self, fleet: Fleet, nats: Nats) -> None:
        super().__init__()
        self._fleet, self._nats = fleet, nats
        self.deaths: collections.Counter[str] = collections.Counter()

    @property
    def rounds(self) -> int:
        """How often each of them has died."""
        return min(self.deaths[name] for name in self._turns())

    def run(self) -> None:
        """Until it is over; nobody is dead then."""
        while not self.over.is_set():
            for name, strike in self._turns().items():
                strike(self.deaths[name] % 2)
                self.deaths[name] += 1
                if self.over.wait(PAUSE_SECONDS):
                    return

    def _turns(self) -> Mapping[str, Callable[[int], None]]:
        return {name: self._killing(replica) for name, replica in self._fleet.victims.items()} | {NATS: self._kill_nats}

    def _killing(self, replica: Replica) -> Callable[[int], None]:
        def kill(turn: int) -> None:
            replica.process.kill()
            self.over.wait(AWAY_SECONDS[turn])
            replica.start()

        return kill

    def _kill_nats(self, turn: int) -> None:
        self._nats.kill()
        self.over.wait(NATS_AWAY_SECONDS[turn])
        self._nats.restart()


class Sampler(Beside):
    """Looks at the survivors: their memory by time, and the most connections that each has had to each port."""

    def __init__(self, survivors: Mapping[str, Replica]) -> None:
        super().__init__()
        self._survivors = survivors
        self.mib: dict[str, list[tuple[float, float]]] = {name: [] for name in survivors}
        self.most: dict[str, collections.Counter[int]] = {name: collections.Counter() for name in survivors}

    def run(self) -> None:
        """Until it is over."""
        while not self.over.wait(SAMPLE_SECONDS):
            for name, replica in self._survivors.items():
                if not replica.process.alive:
                    raise PartFailed(f"{replica.process.name} has ended by itself:\n{replica.process.tail()}")
                self.mib[name].append((time.monotonic(), replica.mib))
                self.most[name] |= connections(replica.process.pid)
