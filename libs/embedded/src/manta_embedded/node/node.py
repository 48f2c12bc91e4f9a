"""A node that runs pods as processes of this machine."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from manta_common.errors import AlreadyExists, MantaError
from manta_common.keys import Key
from manta_common.kinds import NODE, POD, SERVICE
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import Kube, MergePatch
from manta_embedded.api.machine import Command, LogQuery, Terminal
from manta_embedded.node import capacity, describe, programs, streams
from manta_embedded.node.binding import Bind
from manta_embedded.node.files import remove_others
from manta_embedded.node.follow import follow
from manta_embedded.node.ground import Ground, Tokens
from manta_embedded.node.logs import read_log
from manta_embedded.node.network import Network
from manta_embedded.node.pods import PodRunner
from manta_embedded.node.service_proxy import Listen, ServiceProxy, listen_here
from manta_embedded.node.settings import NodeSettings, machine_capacity
from manta_embedded.sim.pods import unschedulable
from manta_embedded.store import errors
from manta_embedded.store.objects import Obj, at_path, is_terminating
from manta_embedded.store.times import text_of

SCHEDULER = "default-scheduler"
log = logging.getLogger(__name__)


def no_tokens(namespace: str, account: str) -> str:
    """For an API that asks for none."""
    return ""


class ProcessNode:
    """Schedules pods to itself and runs them, against any `Kube`; implements the API's `Node`.

    `bind` puts a pod on a node: `binding.binder` over HTTP, `store.bind` on a store. `listen` opens the node ports of
    services on this machine. `live` is to be run once.
    """

    def __init__(
        self,
        kube: Kube,
        settings: NodeSettings,
        bind: Bind,
        *,
        tokens: Tokens = no_tokens,
        listen: Listen = listen_here,
    ) -> None:
        own = settings.capacity or machine_capacity()
        self.settings = msgspec.structs.replace(settings, capacity=own)
        self._kube, self._bind = kube, bind
        self._recorder = Recorder(kube, settings.name)
        network = Network(settings.bridge, settings.subnet)
        self._ground = Ground(kube, self.settings, recorder=self._recorder, network=network, tokens=tokens)
        self._proxy = ServiceProxy(network, self._ground.services, self._ground.pods, listen=listen)
        self._runners: dict[str, PodRunner] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._told: dict[Key, str] = {}
        self._look = asyncio.Event()
        self.ready = asyncio.Event()

    async def live(self) -> None:
        """Run pods until cancelled; then their processes are ended."""
        if orphans := self._ground.ledger.end_orphans():
            log.warning("ended processes that an earlier run had left", extra={"pids": orphans})
        programs.install(self.settings.own_programs)
        self._ground.network.open()
        try:
            async with asyncio.TaskGroup() as group:
                filled = [asyncio.Event(), asyncio.Event()]
                group.create_task(self._recorder.run())
                group.create_task(self._proxy.live())
                group.create_task(follow(self._kube, SERVICE, self._see_service, filled[0]))
                await filled[0].wait()
                group.create_task(follow(self._kube, POD, self._see_pod, filled[1]))
                await filled[1].wait()
                remove_others(self.settings.folder, self._runners)
                await self._register()
                self.ready.set()
                await self._schedule_on()
        finally:
            await self._end_pods()
            self._ground.network.close()

    def logs(self, pod: Obj, query: LogQuery) -> AsyncGenerator[bytes, None]:
        """The log of a container."""
        return read_log(self._runner(pod), query)

    async def run(self, pod: Obj, command: Command, terminal: Terminal) -> int:
        """Run a command in a container."""
        return await streams.run(self._runner(pod).runners[command.container], command, terminal)

    async def connect(self, pod: Obj, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a port of a pod."""
        return await asyncio.open_connection(sock=await self._runner(pod).dial(port))

    def _runner(self, pod: Obj) -> PodRunner:
        found = self._runners.get(pod["metadata"]["uid"])
        if found is None:
            name = pod["metadata"]["name"]
            raise errors.bad_request(f"pod {name} does not have a host assigned")
        return found

    def _see_service(self, key: Key, service: Obj | None) -> None:
        _put(self._ground.services, key, service)
        self._refresh_names()

    def _see_pod(self, key: Key, pod: Obj | None) -> None:
        before = self._ground.pods.get(key)
        _put(self._ground.pods, key, pod)
        if before is not None and pod is None:
            self._forget(before)
        if pod is not None and at_path(pod, "spec.nodeName") == self.settings.name:
            self._keep(pod)
        elif pod is not None and is_terminating(pod) and not at_path(pod, "spec.nodeName"):
            self._told.pop(key, None)
        self._look.set()
        if _name_facts(before) != _name_facts(pod):
            self._refresh_names()

    def _keep(self, pod: Obj) -> None:
        uid = pod["metadata"]["uid"]
        runner = self._runners.get(uid)
        if runner is None:
            runner = self._runners[uid] = PodRunner(self._ground, pod)
            self._tasks[uid] = asyncio.create_task(self._run(runner), name=f"pod {runner.key}")
        runner.see(pod)

    async def _run(self, runner: PodRunner) -> None:
        try:
            await runner.run()
        finally:
            self._look.set()

    def _forget(self, pod: Obj) -> None:
        uid = pod["metadata"]["uid"]
        self._told.pop(Key(pod["metadata"]["namespace"], pod["metadata"]["name"]), None)
        runner, task = self._runners.pop(uid, None), self._tasks.pop(uid, None)
        if runner is None or task is None:
            return
        runner.gone()
        task.add_done_callback(lambda _: runner.files.remove())

    def _refresh_names(self) -> None:
        self._proxy.refresh()
        for runner in self._runners.values():
            runner.refresh_names()

    async def _register(self) -> None:
        node = describe.node(self.settings, self._ground.network.gateway, text_of(self._kube.now()))
        try:
            await self._kube.create(NODE, "", node, dict)
        except AlreadyExists:
            key = Key("", self.settings.name)
            await self._kube.patch(NODE, key, MergePatch({"metadata": node["metadata"]}), dict)
        status = MergePatch({"status": node["status"]})
        await self._kube.patch(NODE, Key("", self.settings.name), status, dict, subresource="status")

    async def _schedule_on(self) -> None:
        while True:
            await self._look.wait()
            self._look.clear()
            waiting = [pod for pod in self._ground.pods.values() if _is_waiting(pod)]
            for pod in sorted(waiting, key=lambda pod: pod["metadata"]["creationTimestamp"]):
                await self._place(pod)

    async def _place(self, pod: Obj) -> None:
        key = Key(pod["metadata"]["namespace"], pod["metadata"]["name"])
        why = self._complaint(pod)
        try:
            if not why:
                await self._bind(key, self.settings.name)
                self._told.pop(key, None)
                bound = {**pod, "spec": {**pod["spec"], "nodeName": self.settings.name}}
                self._ground.pods.setdefault(key, bound)
                if self._ground.pods[key] is pod:
                    self._ground.pods[key] = bound  # counts at once for those that are placed after it
                note = f"Successfully assigned {key} to {self.settings.name}"
                self._ground.tell(pod, "Scheduled", note, who=SCHEDULER)
            elif self._told.get(key) != why:
                await self._tell_unschedulable(key, pod, why)
        except (MantaError, errors.StatusError) as error:  # deleted, or bound by somebody else
            log.info("pod is not placed", extra={"key": str(key), "error": str(error)})

    async def _tell_unschedulable(self, key: Key, pod: Obj, why: str) -> None:
        self._told[key] = why
        self._ground.tell(pod, "FailedScheduling", why, kind="Warning", who=SCHEDULER)
        wanted = unschedulable(pod, why, text_of(self._kube.now()))["status"]["conditions"]
        patch = MergePatch({"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": wanted}})
        await self._kube.patch(POD, key, patch, dict, subresource="status")

    def _complaint(self, pod: Obj) -> str:
        name = self.settings.name
        here = [
            one
            for one in self._ground.pods.values()
            if at_path(one, "spec.nodeName") == name and capacity.is_active(one)
        ]
        node = {"metadata": {"name": name, "labels": describe.labels(name)}}
        shared = "" if self.settings.spaces.isolated else capacity.ray_complaint(pod, here)
        return shared or capacity.complaint(pod, here, self.settings.capacity, node)

    async def _end_pods(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _put(into: dict[Key, Obj], key: Key, obj: Obj | None) -> None:
    if obj is None:
        into.pop(key, None)
    else:
        into[key] = obj


def _is_waiting(pod: Obj) -> bool:
    gated = at_path(pod, "spec.schedulingGates")
    return not at_path(pod, "spec.nodeName") and not is_terminating(pod) and not gated and capacity.is_active(pod)


def _name_facts(pod: Obj | None) -> Any:
    """What of a pod matters for names."""
    if pod is None:
        return None
    conditions = [(one["type"], one["status"]) for one in at_path(pod, "status.conditions") or ()]
    phase, address = at_path(pod, "status.phase"), at_path(pod, "status.podIP")
    return address, phase, pod["metadata"].get("labels"), ("Ready", "True") in conditions, is_terminating(pod)
