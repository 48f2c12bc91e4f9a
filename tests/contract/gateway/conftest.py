"""A gateway on a real NATS, before the stub and then before a real Ray, both with a token."""

from collections.abc import AsyncIterator, Iterator

import pytest

from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings
from manta_common.keys import Key
from manta_dashboard_gateway.gateway import Gateway
from manta_dashboard_gateway.rounds import Limits
from tests.parts.gateway_world import World, token_auth
from tests.parts.nats import Nats
from tests.parts.ray import LocalRay
from tests.parts.stub_dashboard import StubDashboard

CLUSTER = Key("default", "ray")
LIMITS = Limits(one_seconds=20.0, list_seconds=20.0, proxy_seconds=20.0)  # a slow Ray is not one that is gone


class StubHead:
    """The stub as a head node that can be taken down and brought up again, and then has forgotten everything."""

    token = "sesame-open-for-manta"

    def __init__(self) -> None:
        self._stub = self._start(0)
        self.dashboard_url = self._stub.dashboard_url

    def up(self) -> None:
        self._stub = self._start(int(self.dashboard_url.rpartition(":")[2]))

    def down(self) -> None:
        self._stub.stop()

    def _start(self, port: int) -> StubDashboard:
        stub = StubDashboard.start(port=port)
        stub.token = self.token
        return stub


@pytest.fixture(params=["stub", "ray"])
def head(request: pytest.FixtureRequest) -> Iterator[StubHead | LocalRay]:
    """The stub, then a real Ray."""
    if request.param == "ray":
        ray: LocalRay = request.getfixturevalue("guarded_ray")
        yield ray
    else:
        stub = StubHead()
        yield stub
        stub.down()


@pytest.fixture
async def world(own_nats: Nats, head: StubHead | LocalRay) -> AsyncIterator[World]:
    """A cluster with that head, and the Secret with its token."""
    async with open_bus(BusSettings(urls=(own_nats.url,))) as bus:
        world = World(bus)
        world.secrets.put("ray", "1", auth_token=head.token or "")
        await world.cluster("ray", head.dashboard_url, auth=token_auth())
        yield world


@pytest.fixture(autouse=True)
async def gateway(world: World) -> AsyncIterator[Gateway]:
    """A gateway that polls it."""
    async with world.gateway(limits=LIMITS) as gateway:
        yield gateway
