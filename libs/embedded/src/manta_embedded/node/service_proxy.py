"""Makes the addresses of Services work: each new connection to one of them is led to a pod that is ready.

A connection stays with its pod, as with kube-proxy, until one of both ends it; see `service_talk` for the end.
"""

import asyncio
import contextlib
import itertools
import logging
import socket
from collections.abc import Callable, Mapping

from manta_common.keys import Key
from manta_embedded.node.network import LOOPBACK, Network
from manta_embedded.node.service_talk import Ends, Talk
from manta_embedded.node.service_ways import Target, Way, targets, ways
from manta_embedded.store.objects import Obj

BACKLOG = 256
CONNECT_SECONDS = 5.0
AGAIN_SECONDS = 10.0
Listen = Callable[[str, int], socket.socket]  # on this machine; OSError when the port is taken
log = logging.getLogger(__name__)


def listen_here(host: str, port: int) -> socket.socket:
    """For a node that has not left the machine's own network."""
    return socket.create_server((host, port), backlog=BACKLOG)


class ServiceProxy:
    """Listens for the Services in `services`; `refresh` when they or the pods have changed."""

    def __init__(
        self, network: Network, services: Mapping[Key, Obj], pods: Mapping[Key, Obj], *, listen: Listen = listen_here
    ) -> None:
        self._network, self._services, self._pods, self._listen = network, services, pods, listen
        self._servers: dict[Way, asyncio.Server] = {}
        self._refused: dict[Way, str] = {}
        self._turn = itertools.count()
        self._look = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._talks: dict[Talk, Way] = {}

    def refresh(self) -> None:
        """Look at the Services again, soon."""
        self._look.set()

    async def live(self) -> None:
        """Serve until cancelled."""
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(AGAIN_SECONDS if self._refused else None):
                        await self._look.wait()
                self._look.clear()
                await self._settle()
        finally:
            for way in list(self._servers):
                self._close(way)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _settle(self) -> None:
        inside = bool(self._network.bridge)
        wanted = {way for key, service in self._services.items() for way in ways(key, service, inside=inside)}
        self._refused = {way: why for way, why in self._refused.items() if way in wanted}
        for way in self._servers.keys() - wanted:
            self._close(way)
        for talk, way in self._talks.items():
            self._see_off(talk, way)
        for way in sorted(wanted - self._servers.keys(), key=str):
            await self._open(way)

    async def _open(self, way: Way) -> None:
        try:
            if way.address:
                self._network.add(way.address)
                opened = listen_here(way.address, way.listen)
            else:
                opened = await asyncio.to_thread(self._listen, LOOPBACK, way.listen)
        except OSError as error:
            if self._refused.get(way) != str(error):
                log.warning("service cannot be reached", extra={"way": str(way), "error": str(error)})
            self._refused[way] = str(error)
            return
        self._refused.pop(way, None)
        self._servers[way] = await asyncio.start_server(
            lambda reader, writer: self._take(way, (reader, writer)), sock=opened, backlog=BACKLOG
        )

    def _close(self, way: Way) -> None:
        self._servers.pop(way).close()
        if way.address and way.address not in {other.address for other in self._servers}:
            self._network.drop(way.address)

    def _take(self, way: Way, client: Ends) -> None:
        task = asyncio.create_task(self._serve(way, client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, way: Way, client: Ends) -> None:
        """One connection from whoever asks."""
        try:
            await self._join(way, client)
        except OSError:  # nobody takes it, which the client is told by the end of its connection
            client[1].transport.abort()
        finally:
            client[1].close()

    async def _join(self, way: Way, client: Ends) -> None:
        target, pod = await self._dial(way)
        talk = Talk(target, client, pod)
        self._talks[talk] = way
        self._see_off(talk, way)
        try:
            await talk.carry()
        except* OSError:  # one of both is gone, and so is the other
            for _, writer in (client, pod):
                writer.transport.abort()
        finally:
            del self._talks[talk]
            pod[1].close()

    async def _dial(self, way: Way) -> tuple[Target, Ends]:
        """A connection to one of the pods, in turn; to the next one when it does not take it."""
        found, start = self._targets(way), next(self._turn)
        for place in range(len(found)):
            target = found[(start + place) % len(found)]
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    return target, await asyncio.open_connection(*target)
        raise ConnectionRefusedError(f"no pod of {way.service} takes connections")

    def _see_off(self, talk: Talk, way: Way) -> None:
        talk.leaving = talk.target not in self._targets(way)

    def _targets(self, way: Way) -> list[Target]:
        service = self._services.get(way.service)
        pods = (pod for key, pod in self._pods.items() if key.namespace == way.service.namespace)
        return targets(service, way.port, pods) if service else []
