"""The dashboard-gateway as a service: connections, settings, and a gateway."""

from manta_common.kube.access import source
from manta_common.kube.connection import Connection
from manta_common.parts import Parts
from manta_common.wiring import connections, show_plane, until_stopped
from manta_dashboard_gateway.config import Config
from manta_dashboard_gateway.credentials import Credentials
from manta_dashboard_gateway.gateway import Gateway, Setup
from manta_dashboard_gateway.places import BY_PROXY
from manta_dashboard_gateway.ray.lanes import Limits
from manta_dashboard_gateway.ray.transport import Transport

ABOUT = "The only one that speaks HTTP to Ray: polls dashboards, says on the bus what changed, and answers calls."


async def main(config: Config, parts: Parts) -> None:
    """Work until told to stop."""
    async with connections(config, parts) as found:
        credentials = Credentials(found.kube, found.means.clock.monotonic)
        api_server = Connection(source(config.kubeconfig)) if config.reach == BY_PROXY else None
        transport = Transport(credentials, api_server, Limits(at_once=config.requests_at_once))
        setup = Setup(ways=config.ways, pace=config.pace, limits=config.limits, partitions=config.partitions)
        gateway = Gateway(found.means, transport, setup)
        show_plane(parts, gateway.plane)
        parts.page("clusters", gateway.shown)
        parts.ready()
        try:
            await until_stopped(parts, gateway)
        finally:
            await transport.close()
