"""Programs run by the tests: logged, watched, stopped for certain; every wait has a limit and a name."""

import concurrent.futures
import contextlib
import ctypes
import functools
import os
import pathlib
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from tests.parts.patience import patient

PR_SET_PDEATHSIG = 1
POLL_SECONDS = 0.05
END_LIMIT_SECONDS = 10


class PartFailed(Exception):
    """A part that should have worked did not; the message names it and shows the end of its log."""


class Unavailable(Exception):
    """A part cannot be had on this machine; the message says why and what would help. Its tests are skipped."""


class Process:
    """One program with a log file. It ends when it is stopped, and at the latest with this Python process."""

    def __init__(
        self, name: str, command: Sequence[str], log: pathlib.Path, *, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.command = [str(part) for part in command]
        self.log = log
        self.environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id of the running program."""
        if self._process is None:
            raise PartFailed(f"{self.name} was not started")
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def exit_code(self, *, within_seconds: float) -> int | None:
        """The code it ends with, or None when it still runs after that time, patiently."""
        if self._process is None:
            raise PartFailed(f"{self.name} was not started")
        try:
            return self._process.wait(timeout=patient(within_seconds))
        except subprocess.TimeoutExpired:
            return None

    def start(self) -> None:
        """Start it, or start it again after it ended."""
        self._process = _spawner().submit(self._spawn).result()

    def stop(self, *, limit_seconds: float = 20) -> None:
        """SIGTERM, wait patiently, and SIGKILL to whatever is left of its process group."""
        if self._process is None:
            return
        self._signal_group(signal.SIGCONT)
        self._signal_group(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=patient(limit_seconds))
        self.kill()

    def kill(self) -> None:
        """SIGKILL to its process group, and wait for the end."""
        killed = self._process  # another thread may start it again as soon as it is dead
        if killed is None:
            return
        self._signal_group(signal.SIGKILL)
        killed.wait(timeout=patient(END_LIMIT_SECONDS))

    def pause(self) -> None:
        """SIGSTOP: alive, but does nothing until `resume`."""
        self._signal_group(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal_group(signal.SIGCONT)

    def tail(self, lines: int = 25) -> str:
        """The end of its log."""
        if not self.log.exists():
            return "(no log)"
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def wait_until(self, what: str, check: Callable[[], bool], *, limit_seconds: float) -> None:
        """Wait for a condition of this program; fail at once when the program ends."""

        def checked() -> bool:
            if not self.alive:
                raise PartFailed(f"{self.name} ended while waiting until {what}; the end of its log:\n{self.tail()}")
            return check()

        try:
            wait_until(f"{self.name}: {what}", checked, limit_seconds=limit_seconds)
        except TimeoutError as error:
            raise PartFailed(f"{error}; the end of its log:\n{self.tail()}") from None

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  one system call, no lock taken
            )

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


def wait_until(what: str, check: Callable[[], bool], *, limit_seconds: float) -> None:
    """Poll a condition until it holds; TimeoutError names what was waited for."""
    deadline = time.monotonic() + patient(limit_seconds)
    while not check():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {patient(limit_seconds):g} s: {what}")
        time.sleep(POLL_SECONDS)


def accepts(port: int, host: str = "127.0.0.1") -> bool:
    """Whether somebody accepts connections on a port."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


@functools.cache
def _spawner() -> concurrent.futures.Executor:
    """One thread that starts all programs: the kernel ends them with the thread that started them, not the process."""
    return concurrent.futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
