"""Real parts as fixtures, no skips in CI, and a word at the end on what was used and how long it took."""

import os
import pathlib
import re
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from tests.parts import crds
from tests.parts.cluster import Cluster
from tests.parts.control_plane import ControlPlane, cluster
from tests.parts.docker import engine_answers
from tests.parts.registry import PARTS, Parts
from tests.tools.catalogue import cache_folder, needed_for

# What each level may take when both lanes of `make test` run on two cores; told, not enforced, as machines differ.
BUDGET_SECONDS = {"unit": 240, "model": 900, "contract": 240, "integration": 960, "e2e": 240, "chaos": 900}


def pytest_configure(config: pytest.Config) -> None:
    """Make the run's registry of parts. Ctrl-C counts, for what the tests start too, also in a run that a shell has put
    into the background, where it would be ignored."""
    config.stash[PARTS] = Parts()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> list[str]:
    """Say which real parts this run will take."""
    built = all(tool.path.exists() for tool in needed_for("test"))
    how = "containers through testcontainers" if engine_answers() else "no Docker engine answers, so programs"
    return [
        f"real parts: control plane from {_cluster_source(built)}; NATS and Redis: {how}",
        f"skips: {'are failures (CI=true)' if _in_ci() else 'allowed, with their reason'}",
    ]


@pytest.fixture(scope="session")
def parts(pytestconfig: pytest.Config) -> Parts:
    """The run's registry of real parts."""
    return pytestconfig.stash[PARTS]


@pytest.fixture(scope="session")
def parts_folder() -> Iterator[pathlib.Path]:
    """A short path for data and logs of the parts; kept when MANTA_KEEP is set."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="manta-"))
    yield folder
    if not os.environ.get("MANTA_KEEP"):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def kubernetes(parts: Parts, parts_folder: pathlib.Path) -> Iterator[Cluster]:
    """A real Kubernetes cluster: the one the environment names, else our own control plane."""
    yield from parts.obtain("kubernetes", lambda: cluster(parts_folder))


@pytest.fixture(scope="session")
def control_plane(kubernetes: Cluster) -> ControlPlane:
    """Our own control plane, whose API server can be killed, slowed down and made to refuse."""
    if not isinstance(kubernetes, ControlPlane):
        pytest.skip(f"needs the tests' own control plane, not {kubernetes.origin}")
    return kubernetes


@pytest.fixture(scope="session")
def ray_crds(kubernetes: Cluster) -> None:
    """Our CRDs are installed."""
    crds.install(kubernetes)


@pytest.fixture
def namespace(kubernetes: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace for one test."""
    with kubernetes.fresh_namespace(re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())) as name:
        yield name


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip in CI into a failure, add the logs of a failed test's parts, and add up the time of its level."""
    report = yield
    found = item.config.stash[PARTS]
    level = item.nodeid.split("/")[1] if item.nodeid.startswith("tests/") else "other"
    found.level_seconds[level] = found.level_seconds.get(level, 0) + call.duration
    if report.skipped and _in_ci():
        report.outcome = "failed"
        vars(report).pop("wasxfail", None)  # a known failure does not count as failed otherwise
        report.longrepr = f"skipped, and CI allows no skips: {_reason(report.longrepr)}"
    if report.failed:
        for name, part in found.used.items():
            if name in getattr(item, "fixturenames", ()):
                report.sections.append((f"log of {name} ({part.origin})", part.log_tail()))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, pytest.CollectReport]:
    """A module that skips itself is a failure in CI too."""
    report: pytest.CollectReport = yield
    if report.skipped and _in_ci():
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} skipped, and CI allows no skips: {_reason(report.longrepr)}"
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name the real parts that were used, those that could not be had, and the time of every level."""
    found = config.stash[PARTS]
    if found.used or found.unavailable:
        terminalreporter.section("real parts")
    for name, part in found.used.items():
        terminalreporter.write_line(f"{name}: {part.origin} (up in {found.start_seconds[name]:.1f} s)")
    for reason in found.unavailable.values():
        terminalreporter.write_line(f"not to be had: {reason}")
    if found.level_seconds:
        terminalreporter.section("time by level")
        for level, seconds in found.level_seconds.items():
            terminalreporter.write_line(_against_budget(level, seconds))


def _against_budget(level: str, seconds: float) -> str:
    if level not in BUDGET_SECONDS:
        return f"{level} {seconds:.1f} s"
    more = " <-- over its budget: make it faster" if seconds > BUDGET_SECONDS[level] else ""
    return f"{level} {seconds:.1f} of {BUDGET_SECONDS[level]} s{more}"


def _in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")


def _cluster_source(built: bool) -> str:
    given = os.environ.get("MANTA_TEST_KUBECONFIG")
    if given:
        return given
    if os.environ.get("MANTA_TEST_CLUSTER") == "k3s":
        return "K3s in a container"
    return f"{cache_folder()}" + ("" if built else " (to be built first: about ten minutes)")


def _reason(longrepr: object) -> str:
    return str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
