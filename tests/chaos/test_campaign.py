"""Some plays of the campaign through some of its faults, on a real API server and a real NATS, with the same oracle.

The plays of a fault are played at the same time, each in a namespace of its own.
"""

import contextlib
import pathlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from manta_common.kinds import JOB, POD, RAYCLUSTER, RAYJOB
from tests.chaos.campaign_faults import FAULTS, Strike
from tests.chaos.campaign_plays import MARK, PLAYS
from tests.chaos.campaign_watch import Book
from tests.chaos.campaign_world import Stage, System
from tests.model.campaign.picture import Picture, difference
from tests.parts.control_plane import ControlPlane
from tests.parts.nats import Nats
from tests.parts.registry import Parts
from tests.parts.stub_dashboard import StubDashboard

pytestmark = pytest.mark.timeout(900)  # the plays wait much longer than they should have to
COUNTED = (RAYCLUSTER, RAYJOB, POD, JOB)


class End(msgspec.Struct, frozen=True):
    """How a play ended: what is there, what came and went, and how many Ray jobs were taken."""

    picture: Picture
    tally: Picture
    submitted: int


class Theatre:
    """The plays, and where they are played."""

    def __init__(self, plane: ControlPlane, system: System, namespaces: dict[str, str], book: Book) -> None:
        self.system, self._book = system, book
        self._stages = {play: Stage(plane, namespace) for play, namespace in namespaces.items()}

    def play(self, fault: Strike, wanted: "dict[str, End] | None" = None) -> dict[str, End]:
        """All of them at once, through a fault; how each ended once all was well again."""
        with ThreadPoolExecutor(max_workers=len(PLAYS)) as pool:
            self.system.restore()
            list(pool.map(Stage.clear, self._stages.values()))
            for stage in self._stages.values():
                self._book.begin(stage.namespace)
            before = {play: self._submitted(play) for play in PLAYS}
            with fault(self.system):
                list(pool.map(lambda play: PLAYS[play](self._stages[play]), PLAYS))
            self.system.restore()
            list(pool.map(lambda play: self._settle(play, wanted), PLAYS))
            self.system.rest()
            return {play: self._end(play, before[play]) for play in PLAYS}

    def _settle(self, play: str, wanted: "dict[str, End] | None") -> None:
        stage = self._stages[play]
        if wanted:
            with contextlib.suppress(TimeoutError):  # the comparison of the ends tells how it differs
                stage.until("it looks as without faults", lambda: stage.picture() == wanted[play].picture)

    def _end(self, play: str, before: int) -> End:
        stage = self._stages[play]
        return End(stage.picture(), self._book.lines(stage.namespace), self._submitted(play) - before)

    def _submitted(self, play: str) -> int:
        namespace = self._stages[play].namespace
        jobs = list(self.system.stub.jobs.values())
        return sum((job.shown().get("metadata") or {}).get(MARK) == namespace for job in jobs)


@pytest.fixture(scope="module")
def campaign_nats(parts: Parts, parts_folder: pathlib.Path) -> Iterator[Nats]:
    """The NATS of these tests, which is wiped."""
    yield from parts.obtain("campaign_nats", lambda: Nats.start_own(parts_folder))


@pytest.fixture(scope="module")
def theatre(control_plane: ControlPlane, ray_crds: None, campaign_nats: Nats) -> Iterator[Theatre]:
    """One for all tests of this module."""
    with contextlib.ExitStack() as stack:
        stub = StubDashboard.start()
        stack.callback(stub.stop)
        namespaces = {play: stack.enter_context(control_plane.fresh_namespace(play)) for play in PLAYS}
        book = Book(control_plane, COUNTED)
        book.open()
        stack.callback(book.close)
        system = System(control_plane, campaign_nats, stub, list(namespaces.values()))
        stack.callback(system.end)
        yield Theatre(control_plane, system, namespaces, book)


@pytest.fixture(scope="module")
def calm(theatre: Theatre) -> dict[str, End]:
    """How the plays end without faults."""
    return theatre.play(lambda _: contextlib.nullcontext())


def test_without_faults_the_plays_come_to_something(calm: dict[str, End]) -> None:
    assert {play: end.submitted for play, end in calm.items() if end.submitted} == {"job-over-http": 2, "rules": 2}
    assert calm["scale"].tally == Picture(["1 raycluster added", "6 pod added", "4 pod deleted"])
    assert {line.partition(" ")[0] for line in calm["rules"].picture} == {"rayjob", "service"}


@pytest.mark.parametrize("fault", FAULTS)
def test_it_ends_as_without_faults(theatre: Theatre, calm: dict[str, End], fault: str) -> None:
    found = theatre.play(FAULTS[fault], calm)
    wrong = [f"{play}: {text}" for play in PLAYS if (text := _wrong(calm[play], found[play]))]
    assert not wrong, "\n".join([*wrong, theatre.system.tail()])


def _wrong(wanted: End, found: End) -> str:
    """How an end differs from the one without faults; nothing when it does not."""
    lines = [difference(wanted.picture, found.picture), difference(wanted.tally, found.tally)]
    if found.submitted != wanted.submitted:
        lines.append(f"{found.submitted} Ray jobs were submitted instead of {wanted.submitted}")
    return "\n".join(filter(None, lines))
