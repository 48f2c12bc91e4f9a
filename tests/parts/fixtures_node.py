"""The fixtures of the real node."""

import pathlib
import re
from collections.abc import Iterator

import pytest

from tests.parts.node import RealNode
from tests.parts.registry import Parts


@pytest.fixture(scope="session")
def real_node(parts: Parts, parts_folder: pathlib.Path) -> Iterator[RealNode]:
    """A Kubernetes cluster with one real node, which runs real containers."""
    yield from parts.obtain("real_node", lambda: RealNode.start(parts_folder))


@pytest.fixture
def node_namespace(real_node: RealNode, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace on the real node for one test."""
    with real_node.fresh_namespace(re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())) as name:
        yield name
