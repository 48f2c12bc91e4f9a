"""The controllers of the API in real time: a few steps at a time, whenever there is something to do."""

import asyncio
from collections.abc import Callable

from manta_embedded.api.accounts import Accounts
from manta_embedded.api.endpoints import EndpointSlices
from manta_embedded.api.expiry import Expiry
from manta_embedded.api.job_events import JobEvents
from manta_embedded.store.changes import Event
from manta_embedded.store.controllers.plane import Controllers
from manta_embedded.store.store import Store

STEPS = 50  # in one turn of the event loop, so that requests are answered meanwhile


class LivePlane:
    """Kubernetes' own controllers, those of namespaces' accounts and of endpoints among them."""

    def __init__(self, store: Store, ca: str) -> None:
        self._store = store
        self._controllers = Controllers(store)
        more = (Accounts(store, ca), EndpointSlices(store), JobEvents(store), Expiry(store))
        self._controllers.all = (*self._controllers.all, *more)
        self._timer: asyncio.Handle | None = None
        self._leave: Callable[[], None] = lambda: None
        self._soon = False

    def start(self) -> None:
        """Begin; everything that is stored is looked at."""
        self._leave = self._store.subscribe(self._note)
        self._plan()

    def stop(self) -> None:
        """Do no more."""
        self._leave()
        self._set(None)

    def _note(self, _event: Event) -> None:
        """Look what there is to do once for all changes of a turn."""
        if not self._soon:
            self._soon = True
            self._set(asyncio.get_running_loop().call_soon(self._plan))

    def _plan(self) -> None:
        due = self._controllers.due()
        seconds = None if due is None else (due - self._store.now()).total_seconds()
        self._soon = seconds is not None and seconds <= 0
        loop = asyncio.get_running_loop()
        if self._soon:
            self._set(loop.call_soon(self._turn))
        else:
            self._set(None if seconds is None else loop.call_later(seconds, self._turn))

    def _turn(self) -> None:
        self._soon = True
        for _ in range(STEPS):
            if not self._controllers.step():
                break
        self._plan()

    def _set(self, timer: asyncio.Handle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer
