"""A Docker engine where none answers: `eval "$(python tests/tools/engine.py ensure)"`; `... stop` ends it."""

import argparse
import contextlib
import fcntl
import http.client
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator

if __package__ in (None, ""):  # started as a script, before anything is installed
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.tools.catalogue import cache_folder

DEFAULT_HOST = "unix:///var/run/docker.sock"
PING_LIMIT_SECONDS = 1.5
APT_LIMIT_SECONDS = 300
START_LIMIT_SECONDS = 60
STOP_LIMIT_SECONDS = 40
LONGEST_FOLDER = 70  # the engine keeps sockets under its folder, and a socket's path has at most 107 characters


class EngineFailed(Exception):
    """No engine can be had; the message says why in one sentence."""


def host() -> str:
    """Where clients look for the engine: DOCKER_HOST, or the default socket."""
    return os.environ.get("DOCKER_HOST") or DEFAULT_HOST


def answers(address: str | None = None) -> bool:
    """Whether an engine answers at an address, found out in under two seconds."""
    parts = urllib.parse.urlsplit(address or host())
    if parts.scheme == "unix":
        return _pings(_UnixConnection(parts.path))
    if parts.scheme in ("tcp", "http") and not os.environ.get("DOCKER_TLS_VERIFY"):
        return _pings(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PING_LIMIT_SECONDS))
    return _client_reaches(address or host())


def ensure() -> dict[str, str]:
    """The variables a shell must export to use the engine; starts one when none answers."""
    if answers() and host() != own_host():
        _say(f"an engine answers at {host()}")
        return {}
    _check_possible()
    with _locked():
        if not answers(own_host()):
            _install()
            if not os.environ.get("DOCKER_HOST") and answers(DEFAULT_HOST):  # the package started its service
                return {}
            _start()
    return _variables()


def stop() -> None:
    """End the engine that `ensure` started, and only that one."""
    if not folder().exists():
        _say("no engine of ours runs")
        return
    with _locked():
        pid = own_pid()
        if pid is None:
            _say("no engine of ours runs")
            return
        os.kill(pid, signal.SIGTERM)
        if not _within(STOP_LIMIT_SECONDS, lambda: own_pid() is None):
            os.kill(pid, signal.SIGKILL)
        _pid_file().unlink(missing_ok=True)
        _say(f"the engine (pid {pid}) was stopped")


def folder() -> pathlib.Path:
    """The folder of our own engine: its data, its socket, its log and the file with its pid."""
    return cache_folder() / "docker"


def own_host() -> str:
    """The address of our own engine."""
    return f"unix://{folder() / 'docker.sock'}"


def own_pid() -> int | None:
    """The pid of our own engine, if it runs: the recorded one, if that process is an engine with our data folder."""
    with contextlib.suppress(OSError, ValueError):
        pid = int(_pid_file().read_text())
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()  # empty once it has ended
        if f"--data-root={folder() / 'data'}".encode() in command.split(b"\0"):
            return pid
    return None


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PING_LIMIT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(PING_LIMIT_SECONDS)
        self.sock.connect(self._path)


def _pings(connection: http.client.HTTPConnection) -> bool:
    try:
        connection.request("GET", "/_ping")
        return connection.getresponse().read() == b"OK"
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _client_reaches(address: str) -> bool:
    """For addresses that need keys (ssh, TLS): ask with the docker client."""
    client = shutil.which("docker")
    if client is None:
        return False
    command = [client, "--host", address, "version", "--format", "{{.Server.Version}}"]
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run(command, check=False, capture_output=True, timeout=PING_LIMIT_SECONDS).returncode == 0
    return False


def _check_possible() -> None:
    if answers(own_host()):
        return
    if not sys.platform.startswith("linux"):
        raise EngineFailed(f"no Docker engine answers at {host()}: start Docker on this machine")
    if os.geteuid() != 0:
        raise EngineFailed(f"no Docker engine answers at {host()}, and only root can start one: start Docker")
    if len(str(folder())) > LONGEST_FOLDER:
        raise EngineFailed(f"{folder()} is too long a path for the engine's sockets: set MANTA_CACHE to a shorter one")


def _install() -> None:
    if shutil.which("dockerd"):
        return
    if not shutil.which("apt-get"):
        raise EngineFailed("dockerd is not installed, and there is no apt-get to install it: install Docker by hand")
    _say("installing docker.io")
    _apt("update")
    _apt("install", "--yes", "--no-install-recommends", "docker.io")
    if not shutil.which("dockerd"):
        raise EngineFailed("docker.io was installed, but there is no dockerd on PATH: install Docker by hand")


def _apt(*arguments: str) -> None:
    command = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120", *arguments]
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command,
            check=False,
            env=quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=APT_LIMIT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise EngineFailed(f"`apt-get {arguments[0]}` was not done after {APT_LIMIT_SECONDS} s") from None
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "it gave no reason").splitlines()[-1]
        raise EngineFailed(f"`apt-get {arguments[0]}` failed with exit code {done.returncode}: {last}")


def _start() -> None:
    before = time.monotonic()
    for stale in (_pid_file(), folder() / "exec" / "containerd" / "containerd.pid"):
        stale.unlink(missing_ok=True)  # of an engine that was killed: dockerd would wait for whoever has that pid now
    with _log().open("wb") as log:
        engine = subprocess.Popen(
            _command(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd="/", start_new_session=True
        )
    if not _within(START_LIMIT_SECONDS, lambda: engine.poll() is not None or answers(own_host())):
        engine.kill()
        engine.wait()
        raise EngineFailed(f"dockerd did not answer within {START_LIMIT_SECONDS} s, see {_log()}")
    if engine.poll() is not None:
        raise EngineFailed(f"dockerd ended with exit code {engine.returncode}, see {_log()}: {_last_line()}")
    _say(f"an engine (pid {engine.pid}) answers at {own_host()} after {time.monotonic() - before:.1f} s")


def _command() -> list[str]:
    return [
        "dockerd",
        f"--host={own_host()}",
        f"--data-root={folder() / 'data'}",
        f"--exec-root={folder() / 'exec'}",
        f"--pidfile={_pid_file()}",
        "--ip=127.0.0.1",  # where ports are published
        # Ports are published by docker-proxy alone. With its own rules the engine would drop everything that this
        # machine forwards, the pods of a Kubernetes node included.
        "--iptables=false",
        "--ip6tables=false",
    ]


def _variables() -> dict[str, str]:
    """How testcontainers reaches our engine; left alone in a container it would try the container's gateway."""
    return {
        "DOCKER_HOST": own_host(),
        "TC_HOST": "127.0.0.1",
        "TESTCONTAINERS_CONNECTION_MODE": "docker_host",
        "TESTCONTAINERS_RYUK_DISABLED": "true",
    }


def _pid_file() -> pathlib.Path:
    return folder() / "docker.pid"


def _log() -> pathlib.Path:
    return folder() / "dockerd.log"


def _last_line() -> str:
    lines = _log().read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """One `ensure` or `stop` at a time on this machine."""
    limit = APT_LIMIT_SECONDS * 2 + START_LIMIT_SECONDS
    try:
        folder().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineFailed(f"{folder()} cannot be made ({error.strerror}): set MANTA_CACHE") from None
    with (folder() / "lock").open("w") as file:
        if not _within(limit, lambda: _try_lock(file.fileno())):
            raise EngineFailed(f"another run has been starting or stopping the engine for {limit} s")
        yield


def _try_lock(descriptor: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _within(limit_seconds: float, check: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + limit_seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _say(line: str) -> None:
    print(f"engine: {line}", file=sys.stderr, flush=True)


def main() -> int:
    """Start or stop an engine; exit code 1 and one sentence when that cannot be done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("ensure", "stop"))
    try:
        if parser.parse_args().what == "stop":
            stop()
        else:
            for name, value in ensure().items():
                print(f"export {name}={shlex.quote(value)}")
    except EngineFailed as error:
        _say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
