"""A real API server with our CRDs, for every test in this folder."""

from collections.abc import Iterator

import pytest

from manta_common.crd.definitions import KINDS
from tests.contract.crd.server import LEAST, created, manifest
from tests.parts.cluster import Cluster


@pytest.fixture(scope="session")
def cluster(kubernetes: Cluster, ray_crds: None) -> Cluster:
    """A cluster with our CRDs."""
    return kubernetes


@pytest.fixture(scope="session")
def place(cluster: Cluster) -> Iterator[str]:
    """A namespace for tests that store nothing."""
    with cluster.fresh_namespace("crds") as name:
        yield name


@pytest.fixture(scope="session")
def settled(cluster: Cluster) -> Iterator[str]:
    """A namespace with one object of each kind."""
    with cluster.fresh_namespace("statuses") as name:
        for kind in KINDS:
            created(cluster, name, manifest(kind.name, LEAST[kind.name]))
        yield name
