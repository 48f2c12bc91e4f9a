"""Carries out what was decided: one branch per action, events after each phase, and what failed for the status."""

import functools
import logging
import secrets
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, Protocol, assert_never

import msgspec

from manta_cluster_reconciler.actions import (
    Action,
    AddFinalizer,
    Create,
    CreatePod,
    CreateToken,
    Delete,
    DeletePod,
    Halt,
    Patch,
    Phase,
    Tell,
    changes_anything,
)
from manta_cluster_reconciler.conditions import Failure
from manta_cluster_reconciler.memory import Remembered
from manta_cluster_reconciler.telling import Result, in_order, name_of, notices, shown
from manta_common.api.core import ObjectReference, Pod, Service
from manta_common.api.raycluster import RayCluster
from manta_common.deeds import Recheck
from manta_common.errors import AlreadyExists, Conflict, MantaError, NotCaughtUp, NotFound, Refused, Retry, Throttled
from manta_common.execute import AT_MOST, concurrently
from manta_common.keys import Key
from manta_common.kinds import POD, RAYCLUSTER, SECRET, SERVICE
from manta_common.kube.events import reference
from manta_common.kube.protocol import MergePatch, guarded
from manta_common.kube.series import Notice
from manta_common.plane import Item
from manta_common.ray.auth import auth_secret
from manta_common.ray.names import is_same_pod
from manta_common.telemetry.passes import traced_actions
from manta_common.telemetry.tracing import current_tracing
from manta_common.writes import Writes

QUIET = (NotCaughtUp, Conflict, Throttled)  # somebody was faster, or asks to wait: nothing that users need to know
TOKEN_BYTES = 32
Placed = tuple[int, Action]
log = logging.getLogger(__name__)


class Halted(Retry):
    """A decision was that nothing more can be done for now."""


class Ledger(Protocol):
    """Where events go: a Recorder."""

    def record(self, regarding: ObjectReference, notice: Notice) -> None:
        """Tell something about an object."""


class Clock(Protocol):
    """Now, and later."""

    def now(self) -> datetime:
        """The API server's time."""

    def recheck(self, item: Item, at: datetime) -> None:
        """Look at a cluster again by then."""


class Errand(msgspec.Struct, frozen=True):
    """One cluster whose actions are carried out."""

    item: Item
    cluster: RayCluster
    known: Remembered

    def key(self, name: str) -> Key:
        """A name in the cluster's namespace."""
        return Key(self.item.key.namespace, name)


class Undone(Exception):
    """A phase failed; carries the error and what the status says of it."""

    def __init__(self, error: MantaError, failure: Failure) -> None:
        super().__init__(str(error))
        self.error, self.failure = error, failure


class Executor:
    """The one who acts."""

    def __init__(self, writes: Writes, ledger: Ledger, clock: Clock, *, at_most: int = AT_MOST) -> None:
        self._writes, self._ledger, self._clock, self._at_most = writes, ledger, clock, at_most

    async def carry_out(self, errand: Errand, phases: Sequence[Phase]) -> None:
        """Run phase after phase; Undone when one fails, unless somebody only was faster."""
        allowed = 1
        for phase in phases:
            results: list[Result] = []
            carry_out = self._recorded(errand, results)
            try:
                allowed = await concurrently(enumerate(phase), carry_out, at_most=self._at_most, begin=allowed)
            except QUIET:
                raise
            except MantaError as error:
                raise Undone(error, _failure(results)) from error
            finally:
                self.tell(errand.cluster, notices(results))
                _log_done(results)

    def tell(self, cluster: RayCluster, told: Sequence[Notice]) -> None:
        """Record events about a cluster."""
        meta = cluster.metadata
        about = reference(RAYCLUSTER, Key(meta.namespace, meta.name), meta.uid)
        for notice in told:
            self._ledger.record(about, notice)

    def _recorded(self, errand: Errand, results: list[Result]) -> Callable[[Placed], Coroutine[Any, Any, None]]:
        """Carry an action out and remember how it went."""
        carry_out = traced_actions(current_tracing(), functools.partial(self._carry_out, errand))

        async def run(placed: Placed) -> None:
            place, action = placed
            try:
                await carry_out(action)
            except QUIET:
                raise
            except MantaError as error:
                results.append(Result(place, action, str(error)))
                self._remember_refusal(errand, action)
                raise
            results.append(Result(place, action))

        return run

    async def _carry_out(self, errand: Errand, action: Action) -> None:
        match action:
            case CreatePod():
                await self._create_pod(errand, action)
            case DeletePod():
                await self._delete_pod(errand, action)
            case Create() | CreateToken():
                await self._create(errand, action)
            case Patch():
                await self._patch(errand, action)
            case Delete():
                await self._delete(errand, action)
            case AddFinalizer():
                await self._add_finalizer(errand, action)
            case Tell() | Halt() | Recheck():
                self._note(errand, action)
            case _:
                assert_never(action)

    async def _create_pod(self, errand: Errand, action: CreatePod) -> None:
        """Create a pod; under a name that is taken only the very same pod counts, else the next life is tried."""
        try:
            await self._writes.create(errand.item, POD, action.body, into=Pod)
        except AlreadyExists as error:
            name = name_of(action)
            try:
                found = await self._writes.kube.get(POD, errand.key(name), Pod)
            except NotFound:
                raise Conflict(f"pod {name} went in between") from error
            if not is_same_pod(found.metadata, action.body):
                errand.known.take(name)
                raise Conflict(f"pod name {name} is taken by another pod") from error
            self._writes.wrote(errand.item, POD, found.metadata)

    async def _delete_pod(self, errand: Errand, action: DeletePod) -> None:
        if await self._writes.delete(errand.item, POD, errand.key(action.name), uid=action.uid) and action.slot:
            errand.known.set_back(action.slot, self._clock.now())

    async def _create(self, errand: Errand, action: Create | CreateToken) -> None:
        if isinstance(action, CreateToken):
            body = auth_secret(errand.cluster, secrets.token_bytes(TOKEN_BYTES))
            action = Create(kind=SECRET, body=body)
        if action.exclusive:
            await self._create_service(errand, action)
            return
        name = name_of(action)
        try:
            made = await self._writes.create_object(errand.item, action.kind, action.body)
        except AlreadyExists:
            made = await self._writes.kube.get(action.kind, errand.key(name), dict)
        errand.known.remember(action.kind, made)

    async def _create_service(self, errand: Errand, action: Create) -> None:
        """Create the head Service; one that bears its name must be the cluster's own."""
        try:
            await self._writes.create(errand.item, SERVICE, action.body, into=Service)
        except AlreadyExists as error:
            found = await self._writes.kube.get(SERVICE, errand.key(name_of(action)), Service)
            owners = {owner.uid for owner in found.metadata.owner_references if owner.controller}
            if errand.cluster.metadata.uid not in owners or found.metadata.deletion_timestamp:
                raise Refused(409, "AlreadyExists", str(error)) from error
            self._writes.wrote(errand.item, SERVICE, found.metadata)

    async def _patch(self, errand: Errand, action: Patch) -> None:
        body = {**action.body, "metadata": {**action.body.get("metadata", {}), "resourceVersion": action.version}}
        if action.kind == POD:
            await self._writes.patch(errand.item, POD, errand.key(action.name), patch=MergePatch(body), into=Pod)
            return
        patch, key = MergePatch(body), errand.key(action.name)
        try:
            errand.known.remember(
                action.kind, await self._writes.patch_object(errand.item, action.kind, key, patch=patch)
            )
        except (Conflict, NotFound):
            errand.known.doubt()
            raise

    async def _delete(self, errand: Errand, action: Delete) -> None:
        if action.finalizer:
            patch = MergePatch({"metadata": {"uid": action.uid, "finalizers": None}})
            await self._writes.patch_object(errand.item, action.kind, errand.key(action.name), patch=patch)
        await self._writes.delete(errand.item, action.kind, errand.key(action.name), uid=action.uid)
        errand.known.drop(action.kind, action.name)

    async def _add_finalizer(self, errand: Errand, action: AddFinalizer) -> None:
        meta = errand.cluster.metadata
        wanted = [*meta.finalizers, action.finalizer]
        step = {"op": "add", "path": "/metadata/finalizers", "value": wanted}
        patch = guarded(meta.resource_version, [step])
        await self._writes.patch(errand.item, RAYCLUSTER, errand.item.key, patch=patch, into=RayCluster)
        errand.known.doubt()  # what is told at the first look is told by the next pass, the first that does more

    def _note(self, errand: Errand, action: Tell | Halt | Recheck) -> None:
        """What is not written: events are told after the phase, a halt ends it."""
        if isinstance(action, Recheck):
            self._clock.recheck(errand.item, action.at)
        if isinstance(action, Halt):
            raise Halted(action.message)

    def _remember_refusal(self, errand: Errand, action: Action) -> None:
        if isinstance(action, CreatePod) and action.slot:
            errand.known.set_back(action.slot, self._clock.now())


def _failure(results: Sequence[Result]) -> Failure:
    """What the status says of the first action that failed."""
    first = next(result for result in in_order(results) if result.error is not None)
    return Failure(first.error or "", getattr(first.action, "marker", ""))


def _log_done(results: Sequence[Result]) -> None:
    """One line for all that was done for one cause: with one for each pod, a sixth of our time would go there."""
    done: dict[tuple[str, str], list[str]] = {}
    for result in in_order(results):
        if result.error is None and changes_anything(result.action):
            cause = type(result.action).__name__, getattr(result.action, "because", "")
            done.setdefault(cause, []).append(name_of(result.action))
    for (action, because), names in done.items():
        told = {"action": action, "objects": shown(names), "because": because}
        extra = {name: value for name, value in told.items() if value} | {"count": len(names)}
        log.info("actions were carried out", extra=extra)
