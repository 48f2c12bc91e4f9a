"""One container of a pod: started, asked how it is, started again by its policy, stopped."""

import asyncio
import contextlib
import os
import pathlib
import signal
from typing import Protocol

from manta_embedded.node import launching, restarts
from manta_embedded.node.asking import Answer, ask
from manta_embedded.node.faults import CannotStart
from manta_embedded.node.ground import Ground
from manta_embedded.node.launching import Pack
from manta_embedded.node.probes import Probe, Tally, probes, wait_seconds
from manta_embedded.node.records import Record
from manta_embedded.node.sandbox import Sandbox, SandboxFailed
from manta_embedded.node.status import exit_code
from manta_embedded.store.objects import Obj, at_path
from manta_embedded.store.times import text_of

RETRY_SECONDS = (1.0, 2.0, 5.0, 10.0)
KILL_SECONDS = 10.0
NEVER = "1970-01-01T00:00:00Z"
VMSTAT = pathlib.Path("/proc/vmstat")


class Home(Protocol):
    """The pod, as its containers see it."""

    ground: Ground
    pod: Obj

    async def pack(self) -> Pack:
        """What containers are made from, read anew; CannotStart when something is missing."""

    async def sandbox(self) -> Sandbox:
        """The pod's namespaces, made anew if they are gone."""

    def changed(self) -> None:
        """The status is to be written."""


class ContainerRunner:
    """Brings one container through its lives. `record` always tells where it stands."""

    def __init__(self, home: Home, record: Record) -> None:
        self.record = record
        self._home, self._ground = home, home.ground
        self._backoff = restarts.BackOff(home.ground.settings.pace)
        self._stopping = asyncio.Event()
        self._sandbox: Sandbox | None = None
        self._pid: int | None = None
        self._pack: Pack | None = None
        self._probes: list[Probe] = []
        self._since = 0.0
        self._attempt = record.restarts

    @property
    def policy(self) -> str:
        """When it is started again."""
        record = self.record
        if record.sidecar:
            return "Always"
        found = self._home.pod["spec"].get("restartPolicy", "Always")
        return "OnFailure" if record.init and found == "Always" else str(found)

    async def run(self) -> None:
        """Live until it has ended for good or was stopped."""
        if self.record.ended is not None and not await self._pause():
            return
        while not self._stopping.is_set():
            if not await self._start():
                return
            await self._live()
            if not await self._pause():
                return

    async def stop(self, grace_seconds: float, because: str) -> None:
        """End it: its preStop hook, SIGTERM, and SIGKILL after the grace; it is not started again."""
        self._stopping.set()
        await self._end(grace_seconds, because)

    async def _end(self, grace_seconds: float, because: str) -> None:
        sandbox, pid = self._sandbox, self._pid
        if sandbox is None or pid is None:
            return
        self._tell("Killing", because)
        began = asyncio.get_running_loop().time()
        if grace_seconds > 0:
            await self._hook("preStop", limit_seconds=grace_seconds)
            number = _stop_signal(self.record.container)
            left = max(2.0, grace_seconds - (asyncio.get_running_loop().time() - began))
            if await _ended(sandbox, pid, number, limit_seconds=left):
                return
        await _ended(sandbox, pid, signal.SIGKILL, limit_seconds=KILL_SECONDS)

    async def beside(
        self, argv: tuple[str, ...], files: tuple[int, int, int], *, tty: bool = False
    ) -> tuple[Sandbox, int]:
        """Start a further process in it; SandboxFailed when it does not run."""
        if self._sandbox is None or self._pid is None or self._pack is None:
            raise SandboxFailed("the container does not run")
        plan = launching.beside(self._pack, self.record.container, argv, tty=tty)
        return self._sandbox, await self._sandbox.beside(self._pid, plan, files)

    async def _start(self) -> bool:
        """Start it, as soon as all is there; False when it was stopped meanwhile or its start is final."""
        tries = 0
        while not self._stopping.is_set():
            try:
                self._probes = probes(self.record.container)
                self._pack = pack = await self._home.pack()
                plan = launching.plan(pack, self.record.container, self._attempt)
                sandbox = await self._home.sandbox()
                self._pulled()
                if warning := launching.disk_warning(pack, self.record.container):
                    self._tell("FreeDiskSpaceFailed", warning, kind="Warning")
                return await self._launch(sandbox, plan)
            except CannotStart as error:
                self._wait_for(error.reason, error.message)
            except SandboxFailed as error:
                self._wait_for("CreateContainerError", str(error))
            await self._sleep(RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)])
            tries += 1
        return False

    async def _launch(self, sandbox: Sandbox, plan: dict[str, object]) -> bool:
        try:
            self._pid = await sandbox.start(plan)
        except SandboxFailed as error:
            if sandbox.gone:
                raise
            why = launching.start_error(self.record.container, str(error))
            self._tell("Failed", f"Error: {why}", kind="Warning")
            self.record.restarts = self._attempt
            self.record.ends(128, "StartError", times=(NEVER, self._time()), message=why)
            self._home.changed()
            self._since = asyncio.get_running_loop().time()
            return await self._pause() and await self._start()
        self._sandbox, self.record.restarts = sandbox, self._attempt
        self._since = asyncio.get_running_loop().time()
        self._tell("Started", "Container started")
        identity = f"process://{self._home.pod['metadata']['uid']}-{self.record.name}-{self.record.restarts}"
        self.record.runs(self._time(), identity)
        return True

    async def _live(self) -> None:
        """Until the process has ended."""
        assert self._sandbox is not None
        assert self._pid is not None
        began_at, killed = self._time(), _oom_kills()
        purposes = {probe.purpose for probe in self._probes}
        if "startup" not in purposes:
            self.record.has_started.set()
        self.record.ready = self.record.started and "readiness" not in purposes
        self._home.changed()
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(self._watch(probe)) for probe in self._probes]
            asking.append(group.create_task(self._hook("postStart", limit_seconds=60)))
            code = await self._sandbox.wait(self._pid)
            for task in asking:
                task.cancel()
        self._pid = None
        self._record_end(code, began_at, out_of_memory=code == -signal.SIGKILL and _oom_kills() > killed)

    def _record_end(self, code: int, began_at: str, *, out_of_memory: bool) -> None:
        shown = exit_code(code)
        reason = "Completed" if shown == 0 else "Error"
        reason = "OOMKilled" if out_of_memory and not self._stopping.is_set() else reason
        words = self._pack.files.last_words(self.record.name, self.record.restarts) if self._pack else ""
        self.record.ends(shown, reason, times=(began_at, self._time()), message=words)
        self._home.changed()

    async def _pause(self) -> bool:
        """After an end: wait as long as a container that fails again and again has to; False when it is over."""
        ended = self.record.ended
        assert ended is not None
        if self._stopping.is_set() or not restarts.is_restarted(self.policy, ended["exitCode"]):
            return False
        seconds = self._backoff.wait_seconds(asyncio.get_running_loop().time() - self._since if self._since else 0.0)
        if seconds:
            pod = self._home.pod["metadata"]
            who = f"{pod['name']}_{pod['namespace']}({pod['uid']})"
            message = restarts.backoff_message(seconds, self.record.name, who)
            self.record.waits("CrashLoopBackOff", message)
            self._tell(
                "BackOff", f"Back-off restarting failed container {self.record.name} in pod {who}", kind="Warning"
            )
            self._home.changed()
            await self._sleep(seconds)
        self._attempt = self.record.restarts + 1
        return not self._stopping.is_set()

    async def _watch(self, probe: Probe) -> None:
        """Ask again and again; act when the answer has changed for good."""
        tally = Tally(probe)
        await asyncio.sleep(probe.first_seconds)
        if probe.purpose != "startup":
            await self._until_started()
        while True:
            answer = await ask(probe, self._address(), self._run_limited)
            after = asyncio.get_running_loop().time() - self._since
            if probe.counts(success=answer.success, after_seconds=after):
                await self._count(probe, tally, answer)
            if probe.purpose == "startup" and tally.passes:
                return
            await asyncio.sleep(wait_seconds(probe, passes=tally.passes))

    async def _count(self, probe: Probe, tally: Tally, answer: Answer) -> None:
        if not answer.success:
            self._unhealthy(probe, answer)
        if tally.count(success=answer.success):
            await self._act(probe, success=answer.success)

    async def _until_started(self) -> None:
        await self.record.has_started.wait()

    async def _act(self, probe: Probe, *, success: bool) -> None:
        if probe.purpose == "readiness":
            self.record.ready = success
        elif probe.purpose == "startup" and success:
            self.record.has_started.set()
            self.record.ready = not self.record.container.get("readinessProbe")
        elif not success:
            given = probe.grace_seconds
            usual = self._home.pod["spec"].get("terminationGracePeriodSeconds", 30)
            because = f"Container {self.record.name} failed {probe.purpose} probe, will be restarted"
            await self._end(usual if given is None else given, because)
        self._home.changed()

    def _unhealthy(self, probe: Probe, answer: Answer) -> None:
        self._tell("Unhealthy", f"{probe.purpose.capitalize()} probe failed: {answer.message}", kind="Warning")

    async def _run_limited(self, argv: tuple[str, ...], limit_seconds: float) -> tuple[int, bytes]:
        """Run a command in the container; its exit code and output."""
        reading, writing = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        with os.fdopen(reading, "rb", buffering=0) as output:
            try:
                sandbox, pid = await self.beside(argv, (nothing, writing, writing))
            except SandboxFailed as error:
                return 126, str(error).encode()
            finally:
                os.close(writing)
                os.close(nothing)
            try:
                async with asyncio.timeout(limit_seconds):
                    code = await sandbox.wait(pid)
            except TimeoutError:
                await sandbox.signal(pid, signal.SIGKILL)
                raise
            os.set_blocking(reading, False)
            return exit_code(code), output.read(65536) or b""

    async def _hook(self, name: str, *, limit_seconds: float) -> None:
        """Run a hook of its life cycle; what goes wrong in it is told and does not hold anything up."""
        hook = at_path(self.record.container, f"lifecycle.{name}") or {}
        command = (hook.get("exec") or {}).get("command")
        if hook.get("sleep"):
            await asyncio.sleep(min(limit_seconds, float(hook["sleep"].get("seconds") or 0)))
        if not command:
            return
        try:
            code, output = await self._run_limited(tuple(command), limit_seconds)
        except TimeoutError:
            code, output = 124, f"not done within {limit_seconds:g} s".encode()
        if code:
            reason = "FailedPreStopHook" if name == "preStop" else "FailedPostStartHook"
            self._tell(
                reason, f"{name} hook failed with {code}: {output[:512].decode(errors='replace')}", kind="Warning"
            )

    def _address(self) -> str:
        assert self._pack is not None
        return self._pack.sources.addresses[1]

    def _pulled(self) -> None:
        image = self.record.container.get("image", "")
        self._tell("Pulled", f'Container image "{image}" is not needed: commands of this machine are run')
        self._tell("Created", launching.creation_note(self._home.pod, self.record.container))

    def _wait_for(self, reason: str, message: str) -> None:
        self.record.waits(reason, message)
        self._tell("Failed", f"Error: {message}", kind="Warning")
        self._home.changed()

    def _tell(self, reason: str, note: str, *, kind: str = "Normal") -> None:
        self._ground.tell(self._home.pod, reason, note, kind="Warning" if kind == "Warning" else "Normal")

    async def _sleep(self, seconds: float) -> None:
        """Less if it is stopped."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    def _time(self) -> str:
        return text_of(self._ground.now())


async def _ended(sandbox: Sandbox, pid: int, number: int, *, limit_seconds: float) -> bool:
    """Send a signal; whether the process ended in time."""
    try:
        await sandbox.signal(pid, number)
        async with asyncio.timeout(limit_seconds):
            await sandbox.wait(pid)
    except (TimeoutError, SandboxFailed):
        return sandbox.gone
    return True


def _stop_signal(container: Obj) -> int:
    name = at_path(container, "lifecycle.stopSignal") or "SIGTERM"
    return getattr(signal, str(name), signal.SIGTERM)


def _oom_kills() -> int:
    """How often the kernel has killed a process for want of memory since it was started."""
    try:
        lines = VMSTAT.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
