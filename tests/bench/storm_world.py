"""Where the janitor's storm takes place, and what is measured there."""

import os
import pathlib
import resource
import urllib.request
from collections.abc import Sequence

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from tests.bench.cluster_sides import cpu_seconds
from tests.bench.storm_jobs import Called, Went, percentile
from tests.parts.control_plane import ControlPlane
from tests.parts.process import Process


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Where the storm takes place."""

    plane: ControlPlane
    namespace: str
    folder: pathlib.Path
    services: dict[str, Process]
    port: int  # of the janitor

    def cpu(self) -> dict[str, float]:
        """CPU seconds of those who take part, so far."""
        programs = (self.plane.api_server, self.plane.etcd, self.plane.controller_manager)
        found = {program.name: cpu_seconds(program.pid) for program in (*programs, *self.services.values())}
        return {**found, "bench": cpu_seconds(os.getpid()), "machine": machine_seconds()}


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """Objects in the order in which they went, what a bystander's calls took, and who used how much CPU time."""

    went: Sequence[Went]
    calls: Sequence[Called]
    cpu: dict[str, float]

    @property
    def rate(self) -> float:
        """In a second, from the first to the last."""
        return (len(self.went) - 1) / (self.went[-1].at - self.went[0].at)

    @property
    def waits(self) -> list[float]:
        """Of the bystander, between the first and the last."""
        return [call.seconds for call in self.calls if self.went[0].at <= call.at <= self.went[-1].at]

    def told(self, name: str) -> str:
        """One line."""
        cost = " ".join(f"{who} {seconds * 1000 / len(self.went):.2f}" for who, seconds in self.cpu.items())
        waits = f"{percentile(self.waits, 50) * 1000:.0f} ms, p99 {percentile(self.waits, 99) * 1000:.0f} ms"
        return f"{name}: {self.rate:.0f}/s of {len(self.went)}; others' calls {waits}; CPU ms for each: {cost}"


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """All that was measured, and when each job of the janitor was due by the monotonic clock."""

    before: Round
    calm: Round
    storm: Round
    after: Round
    due: dict[str, float]

    @property
    def bare(self) -> float:
        """The rate of both rounds of bare deletes together: as many went in each."""
        return 2 * self.before.rate * self.after.rate / (self.before.rate + self.after.rate)

    def late(self, found: Round) -> list[float]:
        """By how many seconds each went after its time."""
        return [went.at - self.due[went.name] for went in found.went]


def is_waiting(port: int, count: int) -> bool:
    """Whether the janitor has seen all jobs and has nothing else to do."""
    return counted(port, "manta_deletions_pending") >= count and not counted(port, "manta_queue_depth")


def counted(port: int, name: str, **labels: str) -> float:
    """The sum of a service's metric over all samples with these labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    samples = [sample for family in families for sample in family.samples if sample.name == name]
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
            return True
    except OSError:
        return False


def ended_seconds() -> float:
    """CPU time of the programs that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine_seconds() -> float:
    """CPU time of all programs of the machine so far."""
    user, nice, system = pathlib.Path("/proc/stat").read_text().split()[1:4]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")
