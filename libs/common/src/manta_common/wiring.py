"""From a service's settings to the connections it works with; the same for every service."""

import asyncio
import logging
import pathlib
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import msgspec

from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings, client_name
from manta_common.clock import SystemClock
from manta_common.config import Config
from manta_common.errors import Retry
from manta_common.kube.client import Client, connect
from manta_common.kube.events import Recorder
from manta_common.kube.settings import KubeSettings
from manta_common.parts import Parts
from manta_common.plane import Means, Plane
from manta_common.telemetry.plane import ApiMetrics, BusMetrics

AGAIN_SECONDS = 2.0
DRAIN_SECONDS = 5.0
log = logging.getLogger(__name__)


class Connections(msgspec.Struct, frozen=True):
    """What a service works with."""

    kube: Client
    means: Means


@asynccontextmanager
async def connections(config: Config, parts: Parts) -> AsyncIterator[Connections]:
    """Connect to NATS and to the API server, wait until both answer, and disconnect at the end."""
    calls = ApiMetrics(parts.metrics)
    async with (
        connect(kube_settings(config, parts.service), kubeconfig=config.kubeconfig, on_call=calls.called) as kube,
        open_bus(bus_settings(config, parts.service)) as bus,
    ):
        bus.when_published(BusMetrics(parts.metrics, lambda: bus.connected).published)
        parts.need("nats", lambda: "" if bus.connected else "not connected")
        await _reach(kube)
        yield Connections(
            kube,
            Means(
                bus=bus,
                now=kube.now,
                clock=SystemClock(),
                chance=random.Random(),
                metrics=parts.metrics,
                tracing=parts.tracing,
            ),
        )


class Stoppable(Protocol):
    """Runs until it is told to stop."""

    async def run(self) -> None:
        """Work."""

    def stop(self) -> None:
        """Let `run` return."""


async def until_stopped(parts: Parts, worker: Stoppable) -> None:
    """Run something until the service is told to stop, and let it end in good order."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        told = group.create_task(parts.stopping.wait())
        await asyncio.wait({running, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        worker.stop()


def show_plane(parts: Parts, plane: Plane) -> None:
    """What a plane does is shown on `/debug/state`, what it knows on `/debug/objects`."""
    parts.show(plane.name, plane.shown)
    parts.show_objects(plane.name, plane.objects)


async def run_plane(parts: Parts, plane: Plane) -> None:
    """Run a service's plane until the service is told to stop; what it does is shown on `/debug/state`."""
    show_plane(parts, plane)
    parts.ready()
    await until_stopped(parts, plane)


async def run_planes(parts: Parts, recorder: Recorder, planes: Sequence[Plane]) -> None:
    """The same for several planes whose events one recorder writes; what is left of those is written at the end."""
    recorder.give_way(lambda: any(not plane.worker.idle for plane in planes))
    async with asyncio.TaskGroup() as group:
        telling = group.create_task(recorder.run())
        async with asyncio.TaskGroup() as running:
            for plane in planes:
                running.create_task(run_plane(parts, plane))
        telling.cancel()
    await recorder.drain(limit_seconds=DRAIN_SECONDS)


def bus_settings(config: Config, service: str) -> BusSettings:
    """How to reach NATS."""
    return BusSettings(
        urls=config.nats_urls,
        name=client_name(service),
        credentials_file=pathlib.Path(config.nats_credentials_file) if config.nats_credentials_file else None,
        ca_file=pathlib.Path(config.nats_ca_file) if config.nats_ca_file else None,
        replicas=None if config.nats_replicas == "keep" else config.nats_replicas,
    )


def kube_settings(config: Config, service: str) -> KubeSettings:
    """How to reach the API server."""
    return KubeSettings(service=service, qps=config.kube_qps, burst=config.kube_burst)


async def _reach(kube: Client) -> None:
    """Wait for the API server, however long it takes; its first answer also sets the clock."""
    while True:
        try:
            await kube.server_version()
            version = await kube.server_version()  # without the time that connecting took, so that the clock is close
        except Retry as error:
            log.warning("api server does not answer", extra={"error": str(error), "again_in_seconds": AGAIN_SECONDS})
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            log.info("api server answers", extra={"version": version})
            return
