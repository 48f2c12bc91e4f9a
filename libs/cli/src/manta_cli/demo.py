"""Run a Ray job on this machine, no Kubernetes needed, and show every step: from nothing, to the result, to nothing."""

import argparse
import asyncio
import contextlib
import pathlib
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Final

import yaml

from manta_cli import cells
from manta_cli.console import BOLD, DIM, Console
from manta_cli.failures import INTERRUPTED, Failed
from manta_cli.logs import is_over, log
from manta_cli.place import Place, default_folder
from manta_cli.session import Session, opened
from manta_cli.watch import follow, state
from manta_common.errors import AlreadyExists, MantaError
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, POD, RAYCLUSTER, RAYJOB, Kind

NAMESPACE: Final = "default"
JOB: Final = Key(NAMESPACE, "pi")
MANIFEST: Final = pathlib.Path(__file__).with_name("demo.yaml")
UP: Final = b"Manta is up"
UP_SECONDS: Final = 60.0
END_SECONDS: Final = 40.0
STEP_SECONDS: Final = 240.0
KINDS: Final = (RAYJOB, RAYCLUSTER, POD)
MADE: Final = {kind.kind: kind for kind in (CONFIGMAP, RAYJOB)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta demo`."""
    parser.add_argument("--keep", action="store_true", help="leave Manta up at the end, to play with it")


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    console = Console()
    try:
        return asyncio.run(_interruptible(_demo(console, keep=options.keep)))
    except asyncio.CancelledError:
        console.tell("manta demo: stopped; nothing is left running")
        return INTERRUPTED
    except (MantaError, Failed, OSError, TimeoutError) as error:
        console.tell(f"manta demo: {error}")
        return 1


async def _interruptible(work: Coroutine[Any, Any, int]) -> int:
    """Cancelled by the first signal; further ones, of an impatient user, do not keep it from cleaning up."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    interrupted = asyncio.Event()

    def interrupt() -> None:
        if not interrupted.is_set():
            interrupted.set()
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, interrupt)
    return await task


async def _demo(console: Console, *, keep: bool) -> int:
    with contextlib.ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="manta-demo-", ignore_cleanup_errors=True)
        folder = default_folder() if keep else pathlib.Path(stack.enter_context(temporary))
        _prepare(folder)
        tale = Tale(console)
        tale.tell(f"starting Manta, with its data in {folder}: an API, NATS, the services, and a node for pods")
        async with _up(folder, keep=keep) as place, opened(str(place.kubeconfig), "") as kube:
            tale.tell("Manta is up; kubectl would work with it too")
            namespace = argparse.Namespace(command="demo", all_namespaces=False, name="")
            session = Session(options=namespace, kube=kube, console=console, namespace=NAMESPACE)
            code = await _played(session, tale)
            if keep:
                console.say(f"\nManta stays up:\n  export KUBECONFIG={place.kubeconfig}\n`manta down` ends it.")
        if not keep:
            tale.tell("Manta has ended; nothing is left running")
        return code


async def _played(session: Session, tale: "Tale") -> int:
    """The job from its file to its end, and what the rules then do."""
    async with asyncio.TaskGroup() as group:
        following = [group.create_task(follow(session, kind, tale)) for kind in KINDS]
        tale.tell(f"applying {MANIFEST.name}: a RayJob with a head and two workers, and rules for what goes when")
        await _apply(session)
        async with asyncio.timeout(STEP_SECONDS):
            await tale.until(lambda known: is_over(known.get((RAYJOB, JOB), {})))
        ended = tale.known[RAYJOB, JOB]
        await _print_log(session, tale)
        succeeded = bool(cells.at(ended, ".status.jobStatus") == "SUCCEEDED")
        if succeeded:
            tale.tell("now the rules: the workers go 3 s after the end, the cluster 8 s after it")
            async with asyncio.timeout(STEP_SECONDS):
                await tale.until(lambda known: not any(kind == RAYCLUSTER for kind, _ in known))
        for task in following:
            task.cancel()
    return 0 if succeeded else 1


async def _apply(session: Session) -> None:
    for body in yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8")):
        kind = MADE[body["kind"]]
        try:
            await session.kube.create(kind, NAMESPACE, body, dict)
        except AlreadyExists as error:
            name = body["metadata"]["name"]
            raise Failed(f"{kind.name} {name} is there already: `manta delete {kind.name} {name}` first") from error


async def _print_log(session: Session, tale: "Tale") -> None:
    tale.tell("the job has ended; this is its log:")
    async for chunk in log(session, JOB, follow=False):
        for line in chunk.decode(errors="replace").splitlines():
            session.console.say(f"         | {line}")


@contextlib.asynccontextmanager
async def _up(folder: pathlib.Path, *, keep: bool) -> AsyncIterator[Place]:
    """A standalone Manta in a process of its own."""
    place = Place(folder)
    command = [str(pathlib.Path(sys.executable).parent / "manta"), "up", "--data", str(folder), "--http", "127.0.0.1:0"]
    log_file = folder / "manta.log"
    with log_file.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=errors, start_new_session=True
        )
    try:
        await _until_up(process, log_file)
        yield place
    except BaseException:
        keep = False
        raise
    finally:
        if not keep and process.returncode is None:
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End it, if need be by force: pods end with the node, whatever became of it."""
    process.terminate()
    try:
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


async def _until_up(process: asyncio.subprocess.Process, log_file: pathlib.Path) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(UP_SECONDS):
        async for line in process.stdout:
            if line.startswith(UP):
                return
    raise Failed(f"`manta up` has ended: {_last_line(log_file)}")


def _prepare(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def _last_line(log_file: pathlib.Path) -> str:
    lines = log_file.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


class Tale:
    """What is seen, told line by line with the time since the beginning."""

    def __init__(self, console: Console) -> None:
        self.known: dict[tuple[Kind, Key], dict[str, Any]] = {}
        self._console, self._began = console, time.monotonic()
        self._changed = asyncio.Event()
        self._said: dict[tuple[Kind, Key], str] = {}

    def tell(self, text: str) -> None:
        """A step of ours."""
        self._console.say(self._console.paint(f"{self._seconds()} {text}", BOLD))

    def put(self, kind: Kind, obj: dict[str, Any], *, gone: bool = False) -> None:
        """An object has changed."""
        meta = obj["metadata"]
        place = (kind, Key(meta["namespace"], meta["name"]))
        if gone:
            self.known.pop(place, None)
        else:
            self.known[place] = obj
        said = "gone" if gone else _summary(kind, obj)
        if self._said.get(place) != said:
            self._said[place] = said
            self._console.say(f"{self._seconds()} {self._console.paint(kind.name, DIM)} {meta['name']}: {said}")
        self._changed.set()

    async def until(self, holds: Callable[[Mapping[tuple[Kind, Key], dict[str, Any]]], bool]) -> None:
        """Wait until something holds of what is known."""
        while not holds(self.known):
            self._changed.clear()
            await self._changed.wait()

    def _seconds(self) -> str:
        return f"{time.monotonic() - self._began:6.1f} s"


def _summary(kind: Kind, obj: Mapping[str, Any]) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "is being deleted"
    if kind == POD:
        ready = any(
            one["type"] == "Ready" and one["status"] == "True" for one in cells.at(obj, ".status.conditions") or ()
        )
        return "ready" if ready else str(cells.at(obj, ".status.phase") or "Pending")
    words = [state(kind, dict(obj))]
    if kind == RAYCLUSTER:
        wanted = cells.at(obj, ".status.desiredWorkerReplicas") or 0
        words.append(f"{cells.at(obj, '.status.readyWorkerReplicas') or 0} of {wanted} workers ready")
    return ", ".join(filter(None, [*words, cells.at(obj, ".status.jobStatus")]))
