"""All controllers of a control plane over one store, run step by step by whoever has the time."""

from datetime import datetime
from typing import Protocol

from manta_embedded.store.controllers.definitions import Definitions
from manta_embedded.store.controllers.garbage import GarbageCollector
from manta_embedded.store.controllers.jobs import FinishedJobs, Jobs
from manta_embedded.store.controllers.namespaces import Namespaces
from manta_embedded.store.controllers.quotas import Quotas
from manta_embedded.store.store import Store


class Controller(Protocol):
    """Does its work in steps, and says when there is some."""

    def step(self) -> bool:
        """Do one piece of work; False when there is none now."""

    def due(self) -> datetime | None:
        """When there is work: now, at a later moment, or None."""


class Controllers:
    """The controllers in a fixed order; each may also be stepped on its own."""

    def __init__(self, store: Store) -> None:
        self.all: tuple[Controller, ...] = (
            Jobs(store),
            FinishedJobs(store),
            GarbageCollector(store),
            Namespaces(store),
            Quotas(store),
            Definitions(store),
        )

    def step(self) -> bool:
        """Do one piece of work, of the first controller that has some; False when none has."""
        return any(controller.step() for controller in self.all)

    def due(self) -> datetime | None:
        """When there is work: now, at a later moment, or None."""
        moments = [controller.due() for controller in self.all]
        return min((moment for moment in moments if moment is not None), default=None)

    def settle(self, most: int = 100_000) -> None:
        """Work until there is nothing to do now."""
        for _ in range(most):
            if not self.step():
                return
        raise RuntimeError(f"the controllers have not settled in {most} steps")
