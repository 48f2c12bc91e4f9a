"""The cluster-reconciler as a service: connections, what the API server can do, and a plane."""

import socket

import msgspec

from manta_cluster_reconciler.config import Config
from manta_cluster_reconciler.reconcile import ClusterService
from manta_cluster_reconciler.rules import Rules
from manta_common.errors import NotFound, Refused
from manta_common.keys import Key
from manta_common.kinds import CERTIFICATE, ROUTE, Kind
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import KindMissing, Kube
from manta_common.parts import Parts
from manta_common.plane import Shape
from manta_common.wiring import connections, run_planes
from manta_common.worker import Pace

ABOUT = "Brings RayClusters to the state their specs ask for."
NOBODY = "manta"  # of no kind there is an object of this name; the answer tells whether there could be


async def main(config: Config, parts: Parts) -> None:
    """Look after clusters until told to stop."""
    async with connections(config, parts) as found:
        recorder = Recorder(found.kube, socket.gethostname())
        service = ClusterService(
            found.kube,
            found.means,
            rules=await rules_of(config, found.kube),
            ledger=recorder,
            shape=Shape(partitions=config.partitions, pace=Pace(concurrency=config.concurrency)),
        )
        await run_planes(parts, recorder, [service.plane])


async def rules_of(config: Config, kube: Kube) -> Rules:
    """The settings together with what the API server serves."""
    namespace = next(iter(config.watch_namespaces), "default")  # where we may read, if not everywhere
    openshift = await is_served(kube, ROUTE, namespace)
    cert_manager = config.feature_gates.mtls and await is_served(kube, CERTIFICATE, namespace)
    return config.rules(openshift=openshift, cert_manager=cert_manager)


async def is_served(kube: Kube, kind: Kind, namespace: str) -> bool:
    """Whether the API server has a kind that we may read."""
    try:
        await kube.get(kind, Key(namespace, NOBODY), msgspec.Raw)
    except (KindMissing, Refused):
        return False
    except NotFound:
        return True
    return True
