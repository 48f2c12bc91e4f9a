"""Fixtures of NATS, Redis, Ray and its stub. The tests of a session share them, unless they are called `own_`."""

import pathlib
from collections.abc import Iterator

import pytest

from tests.parts.nats import Nats
from tests.parts.nats_cluster import NatsCluster
from tests.parts.ray import LocalRay
from tests.parts.redis import Redis
from tests.parts.registry import Parts
from tests.parts.stub_dashboard import StubDashboard


@pytest.fixture(scope="session")
def nats(parts: Parts, parts_folder: pathlib.Path) -> Iterator[Nats]:
    """A real NATS with JetStream; tests must not kill it, for others use it too."""
    yield from parts.obtain("nats", lambda: Nats.start(parts_folder))


@pytest.fixture
def own_nats(parts: Parts, parts_folder: pathlib.Path) -> Iterator[Nats]:
    """A real NATS for one test, which may kill and wipe it."""
    yield from parts.obtain("own_nats", lambda: Nats.start_own(parts_folder))


@pytest.fixture(scope="session")
def nats_cluster(parts: Parts, parts_folder: pathlib.Path) -> Iterator[NatsCluster]:
    """Three real NATS servers; a test that kills one restarts it."""
    yield from parts.obtain("nats_cluster", lambda: NatsCluster.start(parts_folder))


@pytest.fixture(scope="session")
def redis(parts: Parts, parts_folder: pathlib.Path) -> Iterator[Redis]:
    """A real Redis; tests must not kill it, for others use it too."""
    yield from parts.obtain("redis", lambda: Redis.start(parts_folder))


@pytest.fixture
def own_redis(parts: Parts, parts_folder: pathlib.Path) -> Iterator[Redis]:
    """A real Redis with a password for one test, which may kill and wipe it."""
    yield from parts.obtain("own_redis", lambda: Redis.start_own(parts_folder, password="sesame"))


@pytest.fixture(scope="session")
def ray(parts: Parts, parts_folder: pathlib.Path) -> Iterator[LocalRay]:
    """A real Ray head with its dashboard."""
    yield from parts.obtain("ray", lambda: LocalRay.start(parts_folder))


@pytest.fixture(scope="session")
def guarded_ray(parts: Parts, parts_folder: pathlib.Path) -> Iterator[LocalRay]:
    """A real Ray head that wants a token; a test that takes it down brings it up again."""
    yield from parts.obtain("guarded_ray", lambda: LocalRay.start(parts_folder, token="sesame-open-for-manta"))


@pytest.fixture
def stub_dashboard(parts: Parts) -> Iterator[StubDashboard]:
    """A stub of Ray's dashboard for one test."""
    yield from parts.obtain("stub_dashboard", StubDashboard.start)
