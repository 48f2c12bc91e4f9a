"""A server of the tests that can be killed, restarted and wiped, whether it is a program, a container or given."""

import pathlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import Protocol

from tests.parts.process import PartFailed, Process, Unavailable, wait_until

Address = tuple[str, int]
UP_LIMIT_SECONDS = 30


class Program(Protocol):
    """What runs a server."""

    @property
    def address(self) -> Address:
        """Host and port of the server, once it was started; they stay the same."""

    def start(self) -> None:
        """Start it, or start it again with its data."""

    def kill(self) -> None:
        """End it at once; its data stays."""

    def wipe(self) -> None:
        """Remove its data, once it was killed."""

    def stop(self) -> None:
        """End it for good."""

    def tail(self, lines: int = 25) -> str:
        """The end of its log."""

    def wait_until(self, what: str, check: Callable[[], bool], *, limit_seconds: float) -> None:
        """Wait for a condition; PartFailed, with the end of its log, when the program ends or the limit is over."""


class Server:
    """A server at a fixed address; `is_ready` tells when it can be used."""

    def __init__(self, origin: str, program: Program, is_ready: Callable[[Address], bool]) -> None:
        self.origin = origin
        self._program, self._is_ready = program, is_ready

    @property
    def address(self) -> Address:
        """Host and port of the server."""
        return self._program.address

    def restart(self) -> None:
        """Start it again on the same port with the same data; it is killed first if it still runs."""
        self._program.kill()
        self.up()

    def up(self) -> None:
        """Start it and wait until it can be used; stopped again when that does not happen."""
        try:
            self._program.start()
            self._program.wait_until(
                "it can be used", lambda: self._is_ready(self.address), limit_seconds=UP_LIMIT_SECONDS
            )
        except BaseException:
            self._program.stop()
            raise

    def kill(self) -> None:
        """End it at once; its data stays."""
        self._program.kill()

    def wipe(self) -> None:
        """Kill it, remove its data, and start it again on the same port."""
        self._program.kill()
        self._program.wipe()
        self.up()

    def stop(self) -> None:
        """End it for good."""
        self._program.stop()

    def log_tail(self) -> str:
        """The end of its log."""
        return self._program.tail()


class Native(Process):
    """A program on a loopback port of this machine, with a folder for its log and its data."""

    def __init__(self, name: str, command: Sequence[str], *, folder: pathlib.Path, port: int) -> None:
        super().__init__(name, command, folder / "log")
        self.address: Address = ("127.0.0.1", port)
        self._data = data_folder(folder)

    def wipe(self) -> None:
        """Remove its data."""
        shutil.rmtree(self._data)
        self._data.mkdir()


class Given:
    """A server that somebody else runs: it can be used, and nothing else."""

    def __init__(self, variable: str, address: Address) -> None:
        self.address, self._variable = address, variable

    def start(self) -> None:
        """Nothing: it runs already."""

    def kill(self) -> None:
        """Refused: it is not ours."""
        raise Unavailable(f"a server given by {self._variable} is not killed: leave the variable out")

    def wipe(self) -> None:
        """Refused: it is not ours."""
        self.kill()

    def stop(self) -> None:
        """Nothing: it is not ours."""

    def tail(self, lines: int = 25) -> str:
        """Its log is not ours."""
        return f"(given by {self._variable}; its log is elsewhere)"

    def wait_until(self, what: str, check: Callable[[], bool], *, limit_seconds: float) -> None:
        """Wait for a condition of it."""
        try:
            wait_until(f"the server given by {self._variable}: {what}", check, limit_seconds=limit_seconds)
        except TimeoutError as error:
            raise PartFailed(str(error)) from None


def fresh_folder(parent: pathlib.Path, name: str) -> pathlib.Path:
    """A folder for one server, with a folder for its data in it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
    data_folder(folder).mkdir()
    return folder


def data_folder(folder: pathlib.Path) -> pathlib.Path:
    """Where a server keeps its data."""
    return folder / "data"
