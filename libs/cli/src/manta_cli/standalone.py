"""A whole Manta on one machine, without Kubernetes: an API, NATS, the services, and a node that runs pods as processes.

Everything it keeps is in one data folder, which one process uses at a time.
"""

import asyncio
import contextlib
import functools
import logging
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Final

import msgspec

from manta_cli.place import Place
from manta_cli.services import BUILT
from manta_common.config import Address, Config
from manta_common.errors import AlreadyExists, Misconfigured
from manta_common.keys import Key
from manta_common.kinds import CRD
from manta_common.kube.protocol import Kube, MergePatch
from manta_common.kube.settings import KubeSettings
from manta_common.parts import Parts
from manta_common.run import serve as run_process
from manta_common.telemetry.logs import log_values
from manta_embedded.api.serve import Api
from manta_embedded.api.serve import serve as serve_api
from manta_embedded.api.settings import LOOPBACK, ApiSettings
from manta_embedded.nats import embedded_nats
from manta_embedded.node.ability import NOTHING, Ability, ability
from manta_embedded.node.network import Network
from manta_embedded.node.node import ProcessNode
from manta_embedded.node.outside import NoNamespaces, Outside, enter
from manta_embedded.node.proxy import dialer, way_out
from manta_embedded.node.service_proxy import listen_here
from manta_embedded.node.settings import Api as Reach
from manta_embedded.node.settings import NodeSettings
from manta_embedded.store.kube import EmbeddedKube
from manta_embedded.store.schema.ray import definitions

BACKLOG: Final = 256
BY_POD: Final = "pod"  # there is no DNS here; the node's own network leads to every pod
log = logging.getLogger(__name__)


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What was opened on this machine before its network was left: there was no event loop and no thread yet."""

    place: Place
    api: socket.socket
    http: socket.socket
    outside: Outside | None = None  # what stayed behind; None when nothing was left
    alone: str = ""  # why there can be no network of our own


def run(place: Place, services: Mapping[str, Config], config: Config) -> int:
    """Run everything until SIGTERM or SIGINT; the exit code."""
    with place.held():
        ground = prepared(place, config.http_address)
        return run_process(config, functools.partial(_main, ground, services), "cli", opened=ground.http)


def prepared(place: Place, http: Address) -> Ground:
    """Open what people on this machine must reach, then leave its network for one in which pods have addresses."""
    remembered = place.folder / "api" / "port"
    port = int(remembered.read_text()) if remembered.exists() else 0
    ground = Ground(
        place=place,
        api=_listening(LOOPBACK, port, instead=0),
        http=_listening(http.host or LOOPBACK, http.port),
    )
    try:
        return msgspec.structs.replace(ground, outside=enter())
    except NoNamespaces as error:
        return msgspec.structs.replace(ground, alone=str(error))


def _listening(host: str, port: int, instead: int | None = None) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=BACKLOG)
    except OSError as error:
        if instead is not None and port != instead:
            return _listening(host, instead)
        reason = f"{host}:{port} cannot be listened on: {error.strerror}; choose another address with --http"
        raise Misconfigured(reason) from error


async def _main(ground: Ground, services: Mapping[str, Config], config: Config, parts: Parts) -> None:
    folder = ground.place.folder
    able = Ability(NOTHING, ground.alone) if ground.alone else await ability()
    if able.because:
        log.warning("pods share this machine's network: one Ray cluster at a time", extra={"because": able.because})
    async with contextlib.AsyncExitStack() as stack:
        node = NodeSettings(folder=folder / "node", spaces=able.spaces)
        if not able.spaces.isolated:
            node = msgspec.structs.replace(node, bridge="")
        network = Network(node.bridge, node.subnet)
        network.open()
        addresses = dict.fromkeys((LOOPBACK, network.gateway)) if not ground.alone else ()
        settings = ApiSettings(folder=folder / "api", addresses=tuple(addresses), names=(LOOPBACK, network.gateway))
        api = await stack.enter_async_context(serve_api(settings, sockets=[ground.api]))
        for note in api.notes:
            log.warning(note)
        kube = EmbeddedKube(api.store, KubeSettings(service="cli"))
        await _define(kube)
        if ground.outside and node.bridge:
            out = await stack.enter_async_context(way_out(network.gateway, dialer(ground.outside)))
            node = msgspec.structs.replace(node, proxy=out)
        reach = Reach(host=network.gateway, port=api.port, ca=api.ca.read_text())
        node = msgspec.structs.replace(node, api=reach)
        await stack.enter_async_context(_node(api, kube, node, ground.outside))
        url = await stack.enter_async_context(embedded_nats(folder / "nats"))
        own = {
            name: msgspec.structs.replace(one, nats_urls=(url,), kubeconfig=str(api.kubeconfig))
            for name, one in services.items()
        }
        _tell(ground.place, ground.http)
        parts.ready()
        await _serve(own, parts)


async def _define(kube: Kube) -> None:
    """The API has our kinds, as this version of Manta knows them."""
    for definition in definitions():
        try:
            await kube.create(CRD, "", definition, dict)
        except AlreadyExists:
            change = MergePatch({"spec": definition["spec"]})
            await kube.patch(CRD, Key("", definition["metadata"]["name"]), change, dict)


@contextlib.asynccontextmanager
async def _node(api: Api, kube: Kube, settings: NodeSettings, outside: Outside | None) -> AsyncIterator[None]:
    """A node that runs pods until the end of the block; then their processes have ended."""

    async def bind(key: Key, name: str) -> None:
        api.store.bind(key, name)

    listen = outside.listen if outside else listen_here
    node = ProcessNode(kube, settings, bind, tokens=api.token_for, listen=listen)
    api.node = node
    async with asyncio.TaskGroup() as group:
        life = group.create_task(node.live())
        await node.ready.wait()
        yield
        life.cancel()


async def _serve(services: Mapping[str, Config], parts: Parts) -> None:
    async with asyncio.TaskGroup() as group:
        for name, service in BUILT.items():
            with log_values(service=name):
                group.create_task(service.main(services[name], parts.beside(name)))


def _tell(place: Place, http: socket.socket) -> None:
    """What a person does next."""
    host, port = http.getsockname()[:2]
    sys.stdout.write(
        f"Manta is up. Its data is in {place.folder}; metrics are at http://{host}:{port}/metrics.\n"
        f"  export KUBECONFIG={place.kubeconfig}\n"
        "Then try `manta submit -- python -c 'import ray; print(ray.cluster_resources())'`, `manta watch` or kubectl.\n"
        "Ctrl-C or `manta down` ends it.\n"
    )
    sys.stdout.flush()
