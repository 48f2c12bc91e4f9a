"""Kubernetes' own controllers in a world: they do their steps by and by, some time after what made them necessary."""

import contextvars
import random

from manta_embedded.sim.history import History
from manta_embedded.sim.loop import VirtualLoop
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers.plane import Controllers
from manta_embedded.store.store import Store

LONGEST_DELAY_SECONDS = 0.02
STEPS = (1, 4, 16)
WORDS = {"ADDED": "create", "MODIFIED": "change", "DELETED": "remove"}


class SteppedControllers:
    """Has the controllers take a few steps at a time, by timers; nothing is planned while there is nothing to do."""

    def __init__(self, store: Store, loop: VirtualLoop, history: History, chance: random.Random) -> None:
        self._store, self._loop, self._history, self._chance = store, loop, history, chance
        self._controllers = Controllers(store)
        self._planned_at = float("inf")
        self._stepping = False
        store.subscribe(self._note)
        self._plan()

    def _note(self, event: Event) -> None:
        if self._stepping:
            kind = event.new.get("kind", event.storage[1]).lower()
            self._history.tell("controllers", WORDS[event.type], f"{kind} {event.key}")
        else:
            self._plan()

    def _plan(self) -> None:
        """Be there when there is something to do; whoever comes soon anyway need not ask."""
        if self._planned_at - LONGEST_DELAY_SECONDS <= self._loop.time():
            return
        due = self._controllers.due()
        if due is None:
            return
        wait = max(0.0, (due - self._store.now()).total_seconds())
        at = self._loop.time() + wait + self._chance.uniform(0, LONGEST_DELAY_SECONDS)
        if at < self._planned_at - LONGEST_DELAY_SECONDS:
            self._planned_at = at
            self._loop.call_at(at, self._turn, at, context=contextvars.Context())

    def _turn(self, at: float) -> None:
        if at != self._planned_at:
            return  # another one was planned for an earlier time
        self._planned_at = float("inf")
        self._stepping = True
        for _ in range(self._chance.choice(STEPS)):
            if not self._controllers.step():
                break
        self._stepping = False
        self._plan()
