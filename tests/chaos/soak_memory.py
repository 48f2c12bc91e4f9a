"""Whether memory is flat, and what lives in a process stays as much; pure."""

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tests.bench.side_fit import fit

FLAT_SHARE = 0.05  # what the allocator may take more over a run, of what it had
# In a few minutes no slope tells a leak from a process that is not warm: bounded stores still fill, and a new most of
# what is held at once stays with the allocator, whatever else the process had. There the objects that live at the end
# tell; memory only if it is much.
LONG_SECONDS, SHORT_MIB = 600.0, 17.0
WARM_SHARE = 3  # of a long run the first of so many parts is left out
FLAT_MIB = 2.0
NOISE = 2.0  # standard deviations of the samples around their line
OBJECT_SHARE = 0.02  # more that may live at the end than in the beginning: code that ran late, lists that grew for good
OBJECTS_LEAST = 2000
MINUTE_SECONDS = 60.0
OURS, MORE_OF_OURS = "manta_", 15  # `/debug/living` shows no type of which there are fewer than ten
# What is kept in bounded number: the events of late, what dashboards said in the last ten minutes, and the last message
# of each reader. A janitor has most readers: one for each of three planes and 32 partitions, and two for each plane.
ON_PURPOSE = {
    "manta_common.bus.protocol.Message": 3 * (32 + 2),
    "manta_common.bus.protocol.Batch": 3 * (32 + 2),
    "manta_common.kube.series.Series": 4096,
    "manta_common.dashboard.calls.JobDetails": 10_000,
    "manta_dashboard_gateway.publisher.Word": 10_000,
}
OBJECTS_EACH = 4  # itself, its place in a dictionary, and what it holds

Samples = Sequence[tuple[float, float]]  # seconds and MiB


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """How the memory of a process went: a line through its samples, and how far they lie around it."""

    first_mib: float
    last_mib: float
    growth_mib: float  # by the line, from the first sample to the last
    noise_mib: float  # one standard deviation
    seconds: float

    @property
    def mib_per_minute(self) -> float:
        """The slope."""
        return self.growth_mib / self.seconds * MINUTE_SECONDS if self.seconds else 0.0

    def limit_mib(self, allowed_mib: float = 0.0) -> float:
        """How much growth is none: less than samples scatter, or an allocator takes; and what is meant to be."""
        taken_mib = FLAT_SHARE * self.first_mib if self.seconds >= LONG_SECONDS else SHORT_MIB
        return allowed_mib + max(FLAT_MIB, taken_mib, NOISE * self.noise_mib)

    def is_flat(self, allowed_mib: float = 0.0) -> bool:
        """Whether it did not grow but for what is allowed."""
        return self.growth_mib <= self.limit_mib(allowed_mib)


def judged(samples: Samples) -> Samples:
    """The samples that count: of a long run those after its beginning, if enough of it is left to be long."""
    span = samples[-1][0] - samples[0][0] if samples else 0.0
    since = samples[0][0] + span / WARM_SHARE if samples else 0.0
    return [one for one in samples if one[0] >= since] if span * (1 - 1 / WARM_SHARE) >= LONG_SECONDS else samples


def course(samples: Samples) -> Course:
    """The course of some samples; ValueError when there are too few for a line."""
    samples = judged(samples)
    line = fit(samples)
    if line is None:
        raise ValueError("a line needs samples of two moments")
    start, end = samples[0][0], samples[-1][0]
    scatter = sum((value - line.at(at)) ** 2 for at, value in samples) / len(samples)
    return Course(
        first_mib=line.at(start),
        last_mib=line.at(end),
        growth_mib=line.at(end) - line.at(start),
        noise_mib=math.sqrt(scatter),
        seconds=end - start,
    )


class Living(msgspec.Struct, frozen=True):
    """What `/debug/living` says."""

    tasks: dict[str, int]
    objects: int
    types: dict[str, int]


def living_complaints(before: Living, after: Living) -> Iterator[str]:
    """What lives now and did not before: no task at all, nothing of a type of ours, and not many objects in all."""
    for name in sorted({*before.tasks, *after.tasks}):
        then, now = before.tasks.get(name, 0), after.tasks.get(name, 0)
        if now > then:
            yield f"{now} tasks run {name}, {then} did before"
    more = {name: count - before.types.get(name, 0) for name, count in after.types.items()}
    for name, count in more.items():
        if name.startswith(OURS) and count > ON_PURPOSE.get(name, MORE_OF_OURS):
            yield f"{count} {name} more than before"
    allowed = OBJECTS_EACH * sum(max(0, more.get(name, 0)) for name in ON_PURPOSE)
    most = before.objects + allowed + max(OBJECTS_LEAST, round(OBJECT_SHARE * before.objects))
    if after.objects > most:
        said = grown(before.types, after.types)
        yield f"{after.objects} objects live, {before.objects} did before, {most} at most should: {said}"


def grown(before: Mapping[str, int], after: Mapping[str, int], shown: int = 8) -> str:
    """The types of which there are more, most first."""
    more = {name: count - before.get(name, 0) for name, count in after.items()}
    first = sorted(more.items(), key=lambda one: -one[1])[:shown]
    return ", ".join(f"{count} {name}" for name, count in first if count > 0)
