"""The embedded API over HTTP, for every suite that runs against the real API server too."""

import pathlib
from collections.abc import Iterator

import pytest

from tests.parts.embedded_api import EmbeddedCluster
from tests.parts.registry import Parts


@pytest.fixture(scope="session")
def embedded_cluster(parts: Parts, parts_folder: pathlib.Path) -> Iterator[EmbeddedCluster]:
    """The embedded API, as it is served by `manta up`."""
    yield from parts.obtain("embedded API", lambda: EmbeddedCluster.start(parts_folder))
