"""Starts the processes of a container: in its own files, with its own environment. Standard library only."""

import contextlib
import fcntl
import os
import pathlib
import resource
import signal
import termios
from collections.abc import Callable
from typing import Any

from manta_embedded.node.pid1 import kernel, roots

Plan = dict[str, Any]


class NotStarted(Exception):
    """The process could not be started; the message says why."""


def container(plan: Plan, output: tuple[int, int]) -> int:
    """The main process of a container; its pid. `output` is where its standard output and error go."""

    def prepare() -> None:
        os.setsid()
        if plan["root"]:
            roots.enter(plan["root"], plan["mounts"])
        nothing = os.open("/dev/null", os.O_RDONLY)
        _use((nothing, *output))
        pathlib.Path(plan["cwd"]).mkdir(parents=True, exist_ok=True)
        os.chdir(plan["cwd"])

    return _forked(plan, prepare)


def beside(plan: Plan, files: list[int], container_pid: int) -> int:
    """A further process in a running container, with these files as input, output and error; its pid."""

    def prepare() -> None:
        os.setsid()
        if plan["root"]:
            kernel.enter(f"/proc/{container_pid}/ns/mnt", kernel.CLONE_NEWNS)
        _use((files[0], files[1], files[2]))
        if plan["tty"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.chdir(plan["cwd"])

    return _forked(plan, prepare)


def _forked(plan: Plan, prepare: Callable[[], None]) -> int:
    reading, writing = os.pipe()  # closed by a successful exec, else it tells what went wrong
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _become(plan, prepare, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        why = told.read().decode(errors="replace")
    if why:
        os.waitpid(pid, 0)
        raise NotStarted(why)
    return pid


def _become(plan: Plan, prepare: Callable[[], None], writing: int) -> None:
    """Never returns."""
    try:
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        prepare()
        _allow_many_files()
        os.execvpe(plan["argv"][0], plan["argv"], plan["env"])
    except FileNotFoundError as error:
        if error.filename is None and error.errno and error.strerror and "mount" in error.strerror:
            os.write(writing, str(error).encode())
        else:
            name = plan["argv"][0]
            os.write(writing, f'exec: "{name}": executable file not found in $PATH'.encode())
    except BaseException as error:  # noqa: BLE001  # a forked Python must not go on, whatever happened
        os.write(writing, f"{error}".encode() or b"unknown")
    os._exit(127)


def _use(files: tuple[int, int, int]) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number, inheritable=True)


def _allow_many_files() -> None:
    """Ray wants 65536; who may not have so many has as many as allowed."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
