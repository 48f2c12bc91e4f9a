"""What the runner hands to a service's main function."""

import asyncio
import logging
from collections.abc import Callable

from manta_common.telemetry.health import Health
from manta_common.telemetry.http import Pages
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.tracing import Tracing

log = logging.getLogger(__name__)


class Parts:
    """One component's side of the process: its metrics, spans and pages, its readiness, and the word to stop."""

    def __init__(
        self, service: str, tracing: Tracing, *, registries: list[Registry], health: Health, pages: Pages
    ) -> None:
        self.service, self.tracing, self.metrics = service, tracing, Registry(service)
        self.stopping = asyncio.Event()
        self._registries, self._health, self._pages = registries, health, pages
        self._started = False
        registries.append(self.metrics)
        health.need(service, self._missing)

    def beside(self, service: str) -> "Parts":
        """The same for another component of this process; it is told to stop by the same word."""
        other = Parts(service, self.tracing, registries=self._registries, health=self._health, pages=self._pages)
        other.stopping = self.stopping
        return other

    def ready(self) -> None:
        """The component has begun to work: from now on it is ready unless a need of it is missing."""
        self._started = True
        log.info("service is up", extra={"component": self.service})

    def need(self, what: str, missing: Callable[[], str]) -> None:
        """Be ready only while `missing` has nothing to say, in words such as `not connected`."""
        self._health.need(f"{self.service}: {what}", missing)

    def show(self, part: str, show: Callable[[], object]) -> None:
        """Show something on /debug/state."""
        self._pages.state(self.service, part, show)

    def show_objects(self, part: str, show: Callable[[], object]) -> None:
        """Show on /debug/objects which objects are known; there may be many."""
        self._pages.part("objects", self.service, part, show)

    def page(self, name: str, show: Callable[[], object]) -> None:
        """Serve /debug/<name>."""
        self._pages.page(name, show)

    def _missing(self) -> str:
        if self.stopping.is_set():
            return "stopping"
        return "" if self._started else "starting"
