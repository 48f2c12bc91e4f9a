"""What goes wrong on real parts while the plays are played."""

import contextlib
import dataclasses
import functools
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from aiohttp import web

from tests.chaos.campaign_world import Replica, System
from tests.parts.fault_proxy import Fault
from tests.parts.patience import patient

LEASE_SECONDS = 6.0  # as shipped
JOIN_SECONDS = 30.0
Strike = Callable[[System], AbstractContextManager[None]]


@dataclasses.dataclass
class Crash(Fault):
    """At its n-th write a replica dies: the write is carried out, and nobody is told."""

    status: int = 503
    applied: bool = True
    nth: int = 1
    kill: Callable[[], None] = lambda: None

    def strikes(self, request: web.Request) -> bool:
        """Counts the writes."""
        self.nth -= request.method != "GET"
        return self.nth == 0 and request.method != "GET"

    def answer(self) -> web.Response:
        """There is none: whoever waits for it is dead by then."""
        self.hits += 1
        self.kill()
        return super().answer()


@dataclasses.dataclass
class Now(Fault):
    """Some of all calls, by chance."""

    share: float = 0.05
    chance: random.Random = dataclasses.field(default_factory=lambda: random.Random(7))

    def strikes(self, request: web.Request) -> bool:
        """Watches go on."""
        is_meant = self.method in ("", request.method) and "watch=" not in request.query_string
        is_struck = is_meant and self.chance.random() < self.share
        self.hits += is_struck
        return is_struck


@contextmanager
def crashes(system: System) -> Iterator[None]:
    """Both replicas die right after some of their writes, and are started again."""
    died = [_crash(replica, nth) for number, replica in enumerate(system.replicas) for nth in (3 + 5 * number, 30)]
    with _again(lambda: _revive(system), every_seconds=0.2):
        yield
    assert sum(crash.hits for crash in died) >= 2, "nobody died"


def _crash(replica: Replica, nth: int) -> Fault:
    return replica.proxy.inject(Crash(nth=nth, kill=replica.process.kill))


def _revive(system: System) -> None:
    for replica in system.replicas:
        if not replica.process.alive:
            replica.process.start()


@contextmanager
def failing_calls(system: System) -> Iterator[None]:
    """A fifth of all calls fails: no answer though carried out, refused, throttled, late; or a conflict."""
    faults = [
        Now(status=504, applied=True),
        Now(status=500),
        Now(status=429, retry_after=1),
        Now(delay_seconds=2.0),
        Now(status=409, method="PATCH"),
    ]
    injected = [
        replica.proxy.inject(dataclasses.replace(fault, chance=random.Random(7)))
        for replica in system.replicas
        for fault in faults
    ]
    yield
    assert sum(fault.hits for fault in injected) > 0, "no call has failed"


@contextmanager
def stale_view(system: System) -> Iterator[None]:
    """Watches of clusters, of pods, of everything stand still in turn: news come late, and in the wrong order."""

    def freeze(path: str) -> None:
        for replica in system.replicas:
            replica.proxy.freeze_watches(path)

    def thaw() -> None:
        for replica in system.replicas:
            replica.proxy.clear()

    clusters, pods, all_ = (functools.partial(freeze, path) for path in ("/rayclusters", "/pods", ""))
    with _again(clusters, thaw, pods, thaw, all_, thaw, every_seconds=1.5):
        yield


@contextmanager
def missed_states(system: System) -> Iterator[None]:
    """NATS is wiped, and watches are cut."""

    def cut() -> None:
        for replica in system.replicas:
            replica.proxy.drop_watches()

    with _again(cut, system.nats.wipe, cut, every_seconds=2.5):
        yield


@contextmanager
def lost_lease(system: System) -> Iterator[None]:
    """In turn the replicas stand still for longer than their leases, and go on as if nothing had happened."""
    one, two = (replica.process for replica in system.replicas)
    turns = (one.pause, one.resume, two.pause, two.resume)
    with _again(*turns, every_seconds=LEASE_SECONDS + 1):
        yield


@contextmanager
def _again(*acts: Callable[[], object], every_seconds: float) -> Iterator[None]:
    """Do things in turn, with pauses between them, from now to the end."""
    over = threading.Event()

    def run() -> None:
        while True:
            for act in acts:
                act()
                if over.wait(every_seconds):
                    return

    thread = threading.Thread(target=run, name="faults", daemon=True)
    thread.start()
    with contextlib.ExitStack() as stack:
        stack.callback(thread.join, patient(JOIN_SECONDS))
        stack.callback(over.set)
        yield


FAULTS: dict[str, Strike] = {
    "crash-after-write": crashes,
    "failing-call": failing_calls,
    "stale-view": stale_view,
    "missed-states": missed_states,
    "lost-lease": lost_lease,
}
