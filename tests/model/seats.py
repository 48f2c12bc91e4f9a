"""What the services of a world have in common: one plane whose events are told, and the gateway's way to dashboards."""

import asyncio
from collections.abc import Awaitable, Callable

from manta_common.kube.events import Recorder
from manta_common.plane import Plane
from manta_dashboard_gateway.credentials import Credentials
from manta_dashboard_gateway.places import Target
from manta_dashboard_gateway.ray.transport import Answer, Failure, Request, Transport
from manta_embedded.sim.dashboards import Dashboards, Reply
from manta_embedded.sim.service import Seat

Ask = Callable[[str, str, bytes, float], Awaitable[Reply]]  # method, URL, body, limit in seconds


class Seated:
    """A service with one plane, as its main function runs it."""

    def __init__(self, recorder: Recorder, plane: Plane) -> None:
        self._recorder, self._plane = recorder, plane

    async def run(self) -> None:
        """Work until told to stop."""
        async with asyncio.TaskGroup() as group:
            telling = group.create_task(self._recorder.run())
            await self._plane.run()
            telling.cancel()

    def stop(self) -> None:
        """Let `run` return."""
        self._plane.stop()


class NearTransport(Transport):
    """The gateway's way to dashboards and proxies in the same world."""

    def __init__(self, ask: Ask, seat: Seat, dashboards: Dashboards) -> None:
        self._ask, self._credentials = ask, Credentials(seat.kube, seat.means.clock.monotonic)
        self._dashboards = dashboards

    @property
    def connections(self) -> int:
        """None that is kept."""
        return 0

    async def send(self, target: Target, request: Request, *, wary: bool = False) -> Answer:
        """Ask a dashboard or a proxy; what is no success is an error."""
        url = f"http://{target.address}{request.path}"
        trouble = self._dashboards.trouble(request.method, url)
        await asyncio.sleep(trouble.delay_seconds)
        if trouble.error and not trouble.applied:
            raise trouble.error(url)
        reply = await self._ask(request.method, url, request.body or b"", request.limit_seconds)
        if trouble.error:
            raise trouble.error(url)
        if 200 <= reply.status < 300:
            return Answer(reply.body)
        text = reply.body.decode()
        raise Failure(reply.status, text, reply.content_type, said=f"it answered {reply.status}: {text}")
