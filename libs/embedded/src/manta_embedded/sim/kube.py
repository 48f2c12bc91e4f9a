"""One service's way to the simulated API server: calls take time, go wrong when told to, and are written down."""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime
from email.utils import formatdate
from typing import Any, Protocol, TypeVar

import msgspec

from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube.clock import ServerClock
from manta_common.kube.settings import KubeSettings
from manta_embedded.sim.history import History, reason
from manta_embedded.sim.repeats import Ledger
from manta_embedded.sim.troubles import WRITES, Script, Storm, Trouble
from manta_embedded.sim.ways import SimulatedWays
from manta_embedded.store.bodies import encoded
from manta_embedded.store.errors import StatusError
from manta_embedded.store.kube import Call, EmbeddedKube
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store

T = TypeVar("T")


class Caller(Protocol):
    """Whose calls these are."""

    name: str
    ways: SimulatedWays
    scripts: list[Script]
    storm: Storm | None
    chance: random.Random

    def crash(self, because: str) -> None:
        """Die."""

    def repeated(self, what: str) -> None:
        """It did something again that it knew to be done."""


class Line:
    """From a service to the API server, for one life of the service."""

    def __init__(self, caller: Caller, store: Store, history: History, wall: Callable[[], float]) -> None:
        self._caller, self._store, self._history = caller, store, history
        self.clock, self.ledger = ServerClock(_time, wall), Ledger()
        self.calls = self.writes = 0
        self._cut = False
        self._second, self._date = 0, ""

    def cut(self) -> None:
        """The service is dead: nothing of it goes through any more."""
        self._cut = True

    async def carry(self, call: Call, act: Callable[[], T]) -> T:
        """Implements the store's `Seam`: when a call is carried out, whether at all, and what comes back."""
        self._require()
        self.calls += 1
        because = reason() if call.verb in WRITES else ""
        trouble, sent_at = self._trouble(call), _time()
        await self._go(call, trouble)
        if trouble is not None and not trouble.applied:
            self._strike(call, trouble)
        try:
            result = self._act(call, act, because)
        finally:
            if trouble is not None and trouble.applied:
                self._strike(call, trouble)
            await self._return(call, sent_at)
        if call.verb == "create":
            self.ledger.created(call.kind, _key(result), _uid(result))
        return result

    async def _return(self, call: Call, sent_at: float) -> None:
        """The answer is there; a line of a watch has no date of its own."""
        is_line = call.verb == "line"
        await (self._caller.ways.down() if is_line else self._caller.ways.back())
        self._require()
        if not is_line:
            self.clock.observe(self._dated(), sent_at=sent_at, received_at=_time())

    async def _go(self, call: Call, trouble: Trouble | None) -> None:
        """A line has a way back only."""
        if call.verb != "line":
            await self._caller.ways.there()
        if trouble is not None and trouble.delay_seconds:
            self._tell(call, f"{_words(call)} waits", call.key, f"{trouble.because}: {trouble}")
            await asyncio.sleep(trouble.delay_seconds)
        self._require()

    def _act(self, call: Call, act: Callable[[], T], because: str) -> T:
        """Carry it out; writes are written down."""
        if call.verb not in WRITES:
            return act()
        self.writes += 1
        try:
            result = act()
        except StatusError as error:
            name = str(error.details.get("name", call.key.name))
            self._tell(call, f"{_words(call)} refused", Key(call.key.namespace, name), f"{because}: {error.reason}")
            self._look_for_repeat(call, error, Key(call.key.namespace, name))
            raise
        self._tell(call, _words(call), _key(result), because)
        return result

    def _look_for_repeat(self, call: Call, error: StatusError, key: Key) -> None:
        if error.reason == "AlreadyExists":
            found = self._store.find(call.kind, key)
            if found is not None and self.ledger.has_created(call.kind, key, _uid(found)):
                self._caller.repeated(f"create {call.kind.name} {key}")

    def _trouble(self, call: Call) -> Trouble | None:
        for script in self._caller.scripts:
            if script.strikes(call):
                return script.trouble
        return self._caller.storm.trouble(call, self._caller.chance) if self._caller.storm else None

    def _strike(self, call: Call, trouble: Trouble) -> None:
        """What the trouble means to the caller."""
        if trouble.crash:
            self._caller.crash(f"{trouble.because}: {_words(call)} {call.kind.name}, {trouble}")
            raise asyncio.CancelledError
        if trouble.error is not None:
            self._tell(call, f"{_words(call)} fails", call.key, f"{trouble.because}: {trouble}")
            raise trouble.error(f"{_words(call)} {call.kind.name} {call.key}: by {trouble.because}")

    def _tell(self, call: Call, action: str, key: Key, because: str) -> None:
        self._history.tell(self._caller.name, action, f"{call.kind.name} {key}", because)

    def _require(self) -> None:
        if self._cut:
            raise asyncio.CancelledError

    def _dated(self) -> str:
        """The Date header of an answer; most carry the same as the one before."""
        second = int(self._store.now().timestamp())
        if second != self._second:
            self._second, self._date = second, formatdate(second, usegmt=True)
        return self._date


class SimulatedKube(EmbeddedKube):
    """The API as one service sees it."""

    def __init__(self, store: Store, caller: Caller, line: Line) -> None:
        super().__init__(store, KubeSettings(service=caller.name), seam=line.carry)
        self._caller, self._line = caller, line

    def now(self) -> datetime:
        """The API server's time as this service knows it from its answers."""
        return self._line.clock.now()

    def earliest_now(self) -> datetime:
        """What the API server's clock shows at least, by its answers."""
        return self._line.clock.earliest_now()

    def _decode(self, kind: Kind, obj: Obj, into: type[T]) -> T:
        """Whoever takes raw objects, as the watcher does, has no use for managedFields, which take long to work out."""
        if into is msgspec.Raw:
            return self._codec.decode(kind, encoded(obj, managed=False), into)
        return super()._decode(kind, obj, into)

    async def delete(
        self, kind: Kind, key: Key, *, uid: str, version: str = "", grace_seconds: int | None = None
    ) -> None:
        """Delete the object with this uid, and of this version."""
        try:
            await super().delete(kind, key, uid=uid, version=version, grace_seconds=grace_seconds)
        finally:
            if self._line.ledger.has_deleted(uid):
                self._caller.repeated(f"delete {kind.name} {key}")
        self._line.ledger.deleted(uid)


def _time() -> float:
    return asyncio.get_running_loop().time()


def _words(call: Call) -> str:
    return f"{call.verb} {call.subresource}".rstrip()


def _key(result: Any) -> Key:
    return Key(result["metadata"].get("namespace", ""), result["metadata"]["name"])


def _uid(result: Any) -> str:
    return str(result["metadata"]["uid"])
