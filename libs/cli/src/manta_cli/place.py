"""The data folder of a standalone Manta: who uses it, where its kubeconfig is, and how it is ended."""

import contextlib
import fcntl
import os
import pathlib
import signal
import time
from collections.abc import Iterator
from typing import Final

import msgspec

from manta_common.errors import Misconfigured

END_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.1


def default_folder() -> pathlib.Path:
    """Where data is kept unless `--data` names another folder."""
    given = os.environ.get("MANTA_DATA")
    if given:
        return pathlib.Path(given).expanduser().absolute()
    return pathlib.Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser().absolute() / "manta"


class Place(msgspec.Struct, frozen=True):
    """One data folder."""

    folder: pathlib.Path

    @property
    def kubeconfig(self) -> pathlib.Path:
        """The administrator's kubeconfig of the API that runs here."""
        return self.folder / "api" / "kubeconfig"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """This process uses the folder until the end of the block; Misconfigured when another one does."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise Misconfigured(
                f"the data folder {self.folder} cannot be used: {error.strerror}; see --data"
            ) from error
        try:
            if not _taken(file):
                raise Misconfigured(
                    f"another manta (pid {self.pid()}) uses {self.folder}: end it with `manta down`, or choose"
                    " another folder with --data"
                )
            os.ftruncate(file, 0)
            os.write(file, str(os.getpid()).encode())
            yield
        finally:
            os.close(file)

    def pid(self) -> int | None:
        """The process that uses the folder, if there is one."""
        try:
            file = os.open(self._lock, os.O_RDWR)
        except OSError:
            return None
        try:
            text = self._lock.read_text()
            return int(text) if not _taken(file) and text.isdecimal() else None
        finally:
            os.close(file)

    def end(self) -> bool:
        """End whoever uses the folder and wait until it is free; False when nobody did, TimeoutError if it stays."""
        pid = self.pid()
        if pid is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + END_SECONDS
        while self.pid() == pid:
            if time.monotonic() > deadline:
                raise TimeoutError(f"manta (pid {pid}) has not ended after {END_SECONDS:.0f} s")
            time.sleep(LOOK_SECONDS)
        return True

    @property
    def _lock(self) -> pathlib.Path:
        return self.folder / "manta.lock"


def _taken(file: int) -> bool:
    """Take the lock of a file unless another process has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
