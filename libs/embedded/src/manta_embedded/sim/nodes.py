"""Simulated nodes: they take pods, start them, run them to their end, and stop them; or do that late, badly or never.

There is no task for a pod: what comes next follows from its state, and is planned by a timer.
"""

import asyncio
import contextvars
import itertools
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from manta_common.keys import Key
from manta_common.kinds import NODE, POD
from manta_embedded.sim import pods
from manta_embedded.sim.history import History
from manta_embedded.sim.loop import VirtualLoop
from manta_embedded.store.changes import Event
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.objects import Obj, at_path, is_terminating
from manta_embedded.store.store import Store
from manta_embedded.store.times import text_of

KUBELET, SCHEDULER = "kubelet", "scheduler"
Program = Callable[[Obj], Awaitable[int]]
Step = tuple[float, Callable[[Key, Obj], None]]


class PodScript(msgspec.Struct, frozen=True, kw_only=True):
    """How a pod fares. Times are drawn around these; `run_seconds` of None is for ever.

    `stuck` is the reason for which its containers never start, such as ImagePullBackOff. A `program` runs as long as it
    likes, and its result is the exit code: of one `container` while the others run on, or of them all.
    """

    schedulable: bool = True
    schedule_seconds: float = 0.02
    start_seconds: float = 0.5
    ready_seconds: float = 0.2
    run_seconds: float | None = None
    exit_code: int = 0
    stop_seconds: float = 0.3
    stuck: str = ""
    program: Program | None = None
    container: str = ""


OF_A_JOB = PodScript(run_seconds=1.0)
Rule = Callable[[Obj], PodScript | None]


class Nodes:
    """All nodes, and the scheduler."""

    def __init__(self, store: Store, loop: VirtualLoop, history: History, chance: random.Random) -> None:
        self._store, self._loop, self._history, self._chance = store, loop, history, chance
        self._served = store.registry.find(POD)
        self._rules: list[Rule] = []
        self._capacity: dict[str, int] = {}
        self._on: dict[str, dict[Key, None]] = {}
        self._unplaced: dict[Key, None] = {}
        self._plans: dict[Key, asyncio.TimerHandle] = {}
        self._programs: dict[Key, asyncio.Task[int]] = {}
        self._addresses = itertools.count(1)
        self.slowness = 1.0  # everything takes so many times as long
        self.extra_stop_seconds = 0.0
        store.subscribe(self._note)

    def add(self, count: int = 1, *, pods: int = 110) -> None:
        """Have more nodes, each with room for so many pods."""
        for _ in range(count):
            name = f"node-{len(self._capacity) + 1}"
            self._capacity[name], self._on[name] = pods, {}
            room = {"cpu": "64", "memory": "256Gi", "pods": str(pods)}
            ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
            status = {"capacity": room, "allocatable": room, "conditions": [ready]}
            self._store.create(NODE, "", {"metadata": {"name": name}, "status": status})
        self._place_again()

    def lose(self, name: str) -> None:
        """A node is gone, and its pods with it."""
        self._history.tell(name, "is lost")
        del self._capacity[name]
        self._store.delete(NODE, Key("", name), Deletion())
        for key in list(self._on.pop(name)):
            self._remove(key)

    def script(self, script: PodScript, *, labels: dict[str, str] | None = None, name: str = "") -> None:
        """How pods with these labels, or whose name begins so, fare from now on; the latest word counts."""
        self._rules.insert(0, lambda pod: script if _is_meant(pod, labels or {}, name) else None)

    def rule(self, rule: Rule) -> None:
        """The same by a function."""
        self._rules.insert(0, rule)

    def fail(self, name: str, namespace: str = "default", *, exit_code: int = 1, reason: str = "Error") -> None:
        """The containers of a pod end now; by its restart policy they are started again, or it has failed."""
        pod = self._store.get(POD, Key(namespace, name))
        policy = pod["spec"].get("restartPolicy", "Always")
        if policy == "Always" or (policy == "OnFailure" and exit_code):
            self._write(pod, pods.restarted(pod, exit_code, reason, self._now()), "restarts", reason)
        else:
            self._end(pod, exit_code, reason)

    def evict(self, name: str, namespace: str = "default", *, reason: str = "Evicted", message: str = "") -> None:
        """The node throws a pod out: it has failed, whatever its restart policy."""
        pod = self._store.get(POD, Key(namespace, name))
        self._write(pod, pods.evicted(pod, reason, message, self._now()), "evicts", reason)

    def unready(self, name: str, namespace: str = "default") -> None:
        """A pod fails its readiness probe, for a while."""
        pod = self._store.get(POD, Key(namespace, name))
        self._write(pod, pods.readiness(pod, self._now(), ready=False), "is not ready", "its probe fails")

    def _note(self, event: Event) -> None:
        if event.storage != self._served.storage:
            return
        if event.type == "DELETED":
            self._forget(event.key, event.new)
        else:
            self._plan(event.key, event.new)

    def _plan(self, key: Key, pod: Obj) -> None:
        """Have the next thing happen to a pod, in place of what was planned before."""
        if planned := self._plans.pop(key, None):
            planned.cancel()
        step = self._next(key, pod, self._script(pod))
        if step is None:
            return
        delay, act = step
        seconds = delay * self.slowness * self._chance.uniform(0.5, 1.5)
        uid = pod["metadata"]["uid"]
        self._plans[key] = self._loop.call_later(seconds, self._do, key, uid, act, context=contextvars.Context())

    def _next(self, key: Key, pod: Obj, script: PodScript) -> Step | None:
        """What happens to a pod after how many seconds."""
        if is_terminating(pod):
            grace = float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
            return min(script.stop_seconds, grace) + self.extra_stop_seconds, self._stopped
        if not at_path(pod, "spec.nodeName"):
            return script.schedule_seconds, self._schedule
        match pod["status"].get("phase", "Pending"):
            case "Pending":
                is_told = script.stuck and pod["status"].get("containerStatuses")
                return None if is_told else (script.start_seconds, self._start)
            case "Running":
                return self._next_running(key, pod, script)
        return None

    def _next_running(self, key: Key, pod: Obj, script: PodScript) -> Step | None:
        if not pods.is_ready(pod) and pods.is_whole(pod):
            return script.ready_seconds, self._ready
        if script.program is not None:
            return (0.0, self._begin) if key not in self._programs else None
        return None if script.run_seconds is None else (script.run_seconds, self._complete)

    def _do(self, key: Key, uid: str, act: Callable[[Key, Obj], None]) -> None:
        pod = self._store.find(POD, key)
        if pod is not None and pod["metadata"]["uid"] == uid:
            del self._plans[key]
            act(key, pod)

    def _schedule(self, key: Key, pod: Obj) -> None:
        node = self._free_node() if self._script(pod).schedulable else None
        if node is not None:
            self._unplaced.pop(key, None)
            self._on[node][key] = None
            self._history.tell(SCHEDULER, "binds", f"pod {key}", f"to {node}")
            self._store.bind(key, node)
        elif key not in self._unplaced:
            self._unplaced[key] = None
            message = f"0/{len(self._capacity)} nodes are available"
            self._write(pod, pods.unschedulable(pod, message, self._now()), "has no node", message, who=SCHEDULER)

    def _free_node(self) -> str | None:
        free = [name for name, room in self._capacity.items() if len(self._on[name]) < room]
        return min(free, key=lambda name: len(self._on[name]), default=None)

    def _start(self, key: Key, pod: Obj) -> None:
        script, now = self._script(pod), self._now()
        if script.stuck:
            self._write(pod, pods.waiting(pod, script.stuck, now), "cannot start", script.stuck)
            return
        number = next(self._addresses)
        own = f"10.{64 + number // 65536}.{number // 256 % 256}.{number % 256}"
        host = f"192.168.0.{1 + list(self._capacity).index(pod['spec']['nodeName']) % 250}"
        self._write(pod, pods.running(pod, (host, own), now, ready=script.ready_seconds == 0), "runs", "")

    def _ready(self, key: Key, pod: Obj) -> None:
        self._write(pod, pods.readiness(pod, self._now(), ready=True), "is ready", "")

    def _begin(self, key: Key, pod: Obj) -> None:
        program = self._script(pod).program
        assert program is not None
        task = self._loop.create_task(_run(program, pod), name=f"program of {key}", context=contextvars.Context())
        self._programs[key] = task
        task.add_done_callback(lambda task: self._finished(key, pod["metadata"]["uid"], task))

    def _finished(self, key: Key, uid: str, task: asyncio.Task[int]) -> None:
        pod = self._store.find(POD, key)
        if not task.cancelled() and pod is not None and pod["metadata"]["uid"] == uid and not is_terminating(pod):
            code = task.result()
            self._end(pod, code, "Completed" if code == 0 else "Error", only=self._script(pod).container)

    def _complete(self, key: Key, pod: Obj) -> None:
        code = self._script(pod).exit_code
        self._end(pod, code, "Completed" if code == 0 else "Error")

    def _end(self, pod: Obj, exit_code: int, reason: str, *, only: str = "") -> None:
        now, code = self._now(), f"exit code {exit_code}"
        if only:
            self._write(pod, pods.partly_ended(pod, only, exit_code, now), "goes on without", f"{only}: {code}")
        else:
            self._write(pod, pods.ended(pod, exit_code, reason, now), "ends", code)

    def _stopped(self, key: Key, pod: Obj) -> None:
        self._remove(key)

    def _remove(self, key: Key) -> None:
        self._history.tell(KUBELET, "removes", f"pod {key}")
        self._store.delete(POD, key, Deletion(grace_seconds=0))

    def _forget(self, key: Key, pod: Obj) -> None:
        if planned := self._plans.pop(key, None):
            planned.cancel()
        if program := self._programs.pop(key, None):
            program.cancel()
        self._unplaced.pop(key, None)
        self._on.get(pod["spec"].get("nodeName", ""), {}).pop(key, None)
        self._loop.call_soon(self._place_again, context=contextvars.Context())

    def _place_again(self) -> None:
        """There is room: those without a node are looked at again."""
        for key in list(self._unplaced):
            pod = self._store.find(POD, key)
            if pod is not None and key not in self._plans:
                self._plan(key, pod)

    def _script(self, pod: Obj) -> PodScript:
        found = next((script for rule in self._rules if (script := rule(pod))), None)
        return found or (OF_A_JOB if pods.owner_kind(pod) == "Job" else PodScript())

    def _write(self, old: Obj, new: Obj, action: str, because: str, *, who: str = KUBELET) -> None:
        """As one commit, for binding and status are written at once by the real ones too."""
        key = Key(old["metadata"]["namespace"], old["metadata"]["name"])
        self._history.tell(who, action, f"pod {key}", because)
        self._store.commit(self._served, key, old, new)

    def _now(self) -> str:
        return text_of(self._store.now())


async def _run(program: Program, pod: Obj) -> int:
    return await program(pod)


def _is_meant(pod: Obj, labels: dict[str, str], name: str) -> bool:
    own: dict[str, Any] = pod["metadata"].get("labels") or {}
    return str(pod["metadata"]["name"]).startswith(name) and labels.items() <= own.items()
