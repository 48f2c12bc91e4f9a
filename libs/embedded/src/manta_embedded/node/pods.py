"""One pod on this node: its namespaces, its containers in their order, its status, its end."""

import asyncio
import logging
import socket
from collections.abc import Sequence
from typing import Any

import msgspec

from manta_common.errors import Conflict, MantaError, NotFound
from manta_common.keys import Key
from manta_common.kinds import POD
from manta_common.kube.protocol import MergePatch
from manta_embedded.node import env, hosts, volumes
from manta_embedded.node.containers import ContainerRunner
from manta_embedded.node.faults import CannotStart
from manta_embedded.node.files import PodFiles
from manta_embedded.node.ground import Ground
from manta_embedded.node.launching import Pack
from manta_embedded.node.records import Record
from manta_embedded.node.sandbox import Sandbox, SandboxFailed
from manta_embedded.node.status import Facts, phase, status
from manta_embedded.store.errors import StatusError
from manta_embedded.store.objects import Obj, at_path
from manta_embedded.store.times import text_of

AGAIN_SECONDS = 1.0
FINAL_TRIES = 30
log = logging.getLogger(__name__)


class PodRunner:
    """Runs a pod from the moment it is bound to the node until it is gone; `run` is to be run once."""

    def __init__(self, ground: Ground, pod: Obj) -> None:
        self.ground, self.pod = ground, pod
        self.key = Key(pod["metadata"]["namespace"], pod["metadata"]["name"])
        self.uid: str = pod["metadata"]["uid"]
        self.files = PodFiles(ground.settings.folder, pod)
        known = {
            one["name"]: one
            for field in ("containerStatuses", "initContainerStatuses")
            for one in at_path(pod, f"status.{field}") or ()
        }
        self.records = [
            Record(container, init=init, status=known.get(container["name"])) for init, container in _containers(pod)
        ]
        self.runners = {record.name: ContainerRunner(self, record) for record in self.records}
        started_at = at_path(pod, "status.startTime") or text_of(ground.now())
        self._facts = Facts(started_at=started_at, host=ground.network.gateway)
        self._sandbox: Sandbox | None = None
        self._opening = asyncio.Lock()
        self._terminate = asyncio.Event()
        self._dirty = asyncio.Event()
        self._gone = False
        self.over = False

    async def run(self) -> None:
        """Until the pod's object is gone, or until cancelled; its processes are ended in either case."""
        writing = asyncio.create_task(self._write_changes(), name=f"status of {self.key}")
        try:
            await self._try_to_live()
            await self._terminate.wait()
            await self._finish()
        finally:
            writing.cancel()
            await self._close()

    def see(self, pod: Obj) -> None:
        """The object has changed."""
        self.pod = pod
        if "deletionTimestamp" in pod["metadata"]:
            self._terminate.set()

    def gone(self) -> None:
        """The object was removed: nothing is waited for any more."""
        self._gone = True
        self._terminate.set()

    def changed(self) -> None:
        """The status is to be written."""
        self._dirty.set()

    def refresh_names(self) -> None:
        """Services or pods have changed."""
        ground = self.ground
        text = hosts.hosts(
            self.pod, self._facts.address, ground.services.values(), ground.pods.values(), api=ground.settings.api.host
        )
        self.files.write_hosts(text)

    async def dial(self, port: int) -> socket.socket:
        """A connection to one of its ports; OSError when nobody listens, or it does not run."""
        if self._sandbox is None:
            raise ConnectionRefusedError(f"pod {self.key} does not run")
        return await self._sandbox.dial(port)

    async def sandbox(self) -> Sandbox:
        """The pod's namespaces, made anew if they are gone."""
        async with self._opening:
            if self._sandbox is None or self._sandbox.gone:
                self._sandbox = await self._open()
            return self._sandbox

    async def pack(self) -> Pack:
        """What containers are made from; config maps and secrets are read anew each time."""
        await self.sandbox()
        spec = self.pod["spec"]
        (variables, secret_variables), (files, secret_files) = env.references(spec), volumes.references(spec)
        wanted = (variables | files, secret_variables | secret_files)
        addresses = (self._facts.host, self._facts.address)
        try:
            sources = await self.ground.sources(self.key.namespace, wanted, addresses)
        except MantaError as error:
            raise CannotStart("CreateContainerConfigError", f"the API does not answer: {error}") from error
        settings = self.ground.settings
        found = volumes.volumes(self.pod, volumes.Facts(sources=sources, ca=settings.api.ca))
        for volume in found.values():
            self.files.write_volume(volume, self._tokens(volume))
        return Pack(pod=self.pod, settings=settings, files=self.files, sources=sources, volumes=found)

    def _tokens(self, volume: volumes.Volume) -> dict[str, str]:
        account = self.pod["spec"].get("serviceAccountName") or "default"
        try:
            return {token.path: self.ground.tokens(self.key.namespace, account) for token in volume.tokens}
        except StatusError as error:
            raise CannotStart("CreateContainerConfigError", f"service account {account}: {error}") from error

    async def _open(self) -> Sandbox:
        ground, spaces = self.ground, self.ground.settings.spaces
        name = at_path(self.pod, "spec.hostname") or self.key.name
        sandbox = await Sandbox.open(name[:63], spaces, self.files.folder / "sandbox.log")
        ground.ledger.add(self.uid, sandbox.pid)
        try:
            address = self._facts.address or ground.network.take()
            ground.network.plug(self.uid, sandbox.pid)
            if spaces.isolated:
                gateway, beyond = ground.network.gateway, ground.settings.services
                await sandbox.network(address, ground.network.prefix, gateway=gateway, beyond=beyond)
                await self._give_memory(sandbox)
        except (OSError, MantaError) as error:
            await sandbox.close()
            raise SandboxFailed(f"the pod's network cannot be set up: {error}") from error
        self._facts = msgspec.structs.replace(self._facts, address=address, sandboxed=True)
        self.refresh_names()
        self.changed()
        return sandbox

    async def _give_memory(self, sandbox: Sandbox) -> None:
        await sandbox.memory(str(self.files.shared_memory), 0)
        for name, size_bytes in volumes.memory(self.pod).items():
            place = self.files.place(volumes.Volume(name=name))
            place.mkdir(parents=True, exist_ok=True)
            await sandbox.memory(str(place), size_bytes)

    async def _try_to_live(self) -> None:
        """A pod that this machine cannot run (its disk is full, say) has failed, and says why."""
        try:
            await self._live()
        except* (MantaError, OSError) as errors:
            message = "; ".join(str(error) for error in _leaves(errors))
            log.warning("pod has failed by the node's fault", extra={"key": str(self.key), "error": message})
            self._facts = msgspec.structs.replace(self._facts, reason="NodeError", message=message)
            self.ground.tell(self.pod, "Failed", message, kind="Warning")
            await self._close()
            self.changed()

    async def _live(self) -> None:
        """Init containers one after the other, then all others at once, until all have ended or it is terminated."""
        if phase(self.pod, self.records, self._facts) in ("Succeeded", "Failed") and self._has_ended():
            self.over = True
            return
        self.changed()
        life = asyncio.create_task(self._containers_live(), name=f"containers of {self.key}")
        watching: list[asyncio.Task[Any]] = [asyncio.create_task(self._terminate.wait()), *self._deadline()]
        try:
            await asyncio.wait([life, *watching], return_when=asyncio.FIRST_COMPLETED)
            if life.done():
                life.result()
            else:
                await self._stop_all()
        finally:
            for task in (life, *watching):
                task.cancel()
            await asyncio.gather(life, *watching, return_exceptions=True)
        self.over = True
        await self._close()
        self.changed()

    def _has_ended(self) -> bool:
        """Whether an earlier life of the node has seen it end."""
        return at_path(self.pod, "status.phase") in ("Succeeded", "Failed")

    def _deadline(self) -> list[asyncio.Task[None]]:
        seconds = self.pod["spec"].get("activeDeadlineSeconds")
        return [asyncio.create_task(self._expire(float(seconds)))] if seconds else []

    async def _expire(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        message = "Pod was active on the node longer than the specified deadline"
        self._facts = msgspec.structs.replace(self._facts, reason="DeadlineExceeded", message=message)
        self.ground.tell(self.pod, "DeadlineExceeded", message)

    async def _containers_live(self) -> None:
        async with asyncio.TaskGroup() as group:
            sidecars: list[asyncio.Task[None]] = []
            for record in (one for one in self.records if one.init):
                if record.sidecar:
                    sidecars.append(group.create_task(self.runners[record.name].run()))
                    await record.has_started.wait()
                elif not record.succeeded:
                    await self.runners[record.name].run()
                    if not record.succeeded:
                        break
            else:
                mains = [self.runners[one.name] for one in self.records if not one.init]
                async with asyncio.TaskGroup() as inner:
                    for runner in mains:
                        inner.create_task(runner.run())
            await asyncio.gather(*(self._stop(self.runners[one.name]) for one in self.records if one.sidecar))

    async def _stop_all(self) -> None:
        """Ask all containers to end, sidecars after the others; none is started any more."""
        for some in (
            [one for one in self.records if not one.sidecar],
            [one for one in self.records if one.sidecar],
        ):
            await asyncio.gather(*(self._stop(self.runners[one.name]) for one in some))
        await asyncio.gather(*(record.has_stopped.wait() for record in self.records))

    async def _stop(self, runner: ContainerRunner) -> None:
        grace = self.pod["metadata"].get("deletionGracePeriodSeconds")
        usual = self.pod["spec"].get("terminationGracePeriodSeconds", 30)
        seconds = 0.0 if self._gone else float(usual if grace is None else grace)
        await runner.stop(seconds, f"Stopping container {runner.record.name}")

    async def _finish(self) -> None:
        """The last word on the status, and then the object goes."""
        if self._gone:
            return
        await self._write()
        for _ in range(FINAL_TRIES):
            try:
                await self.ground.kube.delete(POD, self.key, uid=self.uid, grace_seconds=0)
            except (NotFound, Conflict):
                return
            except MantaError as error:
                log.warning("pod is not removed yet", extra={"key": str(self.key), "error": str(error)})
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                return

    async def _close(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.close()
            self.ground.network.release(self.uid, self._facts.address)
            self.ground.ledger.drop(self.uid)

    async def _write_changes(self) -> None:
        while True:
            await self._dirty.wait()
            if not await self._write():
                await asyncio.sleep(AGAIN_SECONDS)

    async def _write(self) -> bool:
        """Write the status if it has changed; False when that is to be tried again."""
        self._dirty.clear()
        wanted = status(self.pod, self.records, self._facts, text_of(self.ground.now()))
        have = self.pod.get("status") or {}
        if all(have.get(name) == value for name, value in wanted.items()):
            return True
        patch = MergePatch({"metadata": {"uid": self.uid}, "status": _merge(have, wanted)})
        try:
            self.pod = await self.ground.kube.patch(POD, self.key, patch, dict, subresource="status")
        except (NotFound, Conflict):
            return True
        except MantaError as error:
            log.warning("status of a pod is not written", extra={"key": str(self.key), "error": str(error)})
            self._dirty.set()
            return False
        return True


def _leaves(errors: BaseExceptionGroup[Exception]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in errors.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def _merge(have: Obj, wanted: Obj) -> Obj:
    """A merge patch replaces lists whole; fields that are not the node's stay."""
    return {name: value for name, value in wanted.items() if have.get(name) != value}


def _containers(pod: Obj) -> Sequence[tuple[bool, Obj]]:
    inits = [(True, one) for one in pod["spec"].get("initContainers") or ()]
    return [*inits, *((False, one) for one in pod["spec"]["containers"])]
