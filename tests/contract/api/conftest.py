"""Every behaviour of this suite holds for the real API server and for the store in memory, over HTTP too."""

import secrets
from collections.abc import Callable, Iterator

import pytest

from manta_common.keys import Key
from manta_common.kinds import CRD, NAMESPACE
from tests.contract.api.api import Api, EmbeddedApi, RealApi
from tests.contract.api.objects import DEFINITIONS, GADGET, WIDGET
from tests.parts.cluster import ApiError, Cluster
from tests.parts.embedded_api import EmbeddedCluster

IMPLEMENTATIONS: dict[str, Callable[[pytest.FixtureRequest], Api]] = {
    "embedded": lambda request: _serving_ours(EmbeddedApi()),
    "http": lambda request: request.getfixturevalue("http_api"),
    "real": lambda request: request.getfixturevalue("real_api"),
}


@pytest.fixture(params=list(IMPLEMENTATIONS))
def api(request: pytest.FixtureRequest) -> Api:
    """The API under test, serving the suite's own kinds."""
    return IMPLEMENTATIONS[request.param](request)


@pytest.fixture(scope="session")
def http_api(embedded_cluster: EmbeddedCluster) -> Iterator[Api]:
    """The embedded API over HTTP."""
    opened = RealApi(embedded_cluster)
    yield _serving_ours(opened)
    opened.close()


@pytest.fixture(scope="session")
def real_api(kubernetes: Cluster) -> Iterator[Api]:
    """The API of the cluster; the suite's namespaces are deleted at its end, for that is much work."""
    opened = RealApi(kubernetes)
    yield _serving_ours(opened)
    opened.close()
    last = RealApi(kubernetes)  # other tests may have restarted the server meanwhile
    for namespace in last.list(NAMESPACE, labelSelector="suite=api")["items"]:
        last.delete(NAMESPACE, Key("", namespace["metadata"]["name"]))
    last.close()


@pytest.fixture
def space(api: Api) -> str:
    """A namespace for one test."""
    return _namespace(api)


@pytest.fixture
def other_space(api: Api) -> str:
    """Another namespace for one test."""
    return _namespace(api)


def _namespace(api: Api) -> str:
    name = f"contract-{secrets.token_hex(4)}"
    api.create(NAMESPACE, "", {"metadata": {"name": name, "labels": {"suite": "api"}}})
    return name


def _serving_ours(api: Api) -> Api:
    for definition in DEFINITIONS:
        _define(api, definition)
    api.eventually("the suite's kinds are served", lambda: _are_served(api))
    return api


def _define(api: Api, definition: dict[str, object]) -> None:
    try:
        api.create(CRD, "", definition)
    except ApiError as refusal:
        if refusal.status.get("reason") != "AlreadyExists":
            raise


def _are_served(api: Api) -> bool | None:
    try:
        for kind in (WIDGET, GADGET):
            api.list(kind)
    except ApiError:
        return None
    return True
