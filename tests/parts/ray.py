"""A real Ray head with its dashboard on this machine, for tests."""

import importlib.metadata
import os
import pathlib
import shutil
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence

from tests.parts import keeper
from tests.parts.ports import free_ports
from tests.parts.process import PartFailed, Process, Unavailable

UP_LIMIT_SECONDS = 120
START_TRIES = 3  # Ray gives up when its raylet is not there after 30 s, which on a busy machine it may need
LONGEST_FOLDER = (
    42  # Ray keeps sockets under it, with about 65 characters of its own; a path of a socket has at most 107
)
OPTIONS = ("--num-cpus=2", "--object-store-memory=100000000", "--disable-usage-stats", "--include-log-monitor=false")
PORT_OPTIONS = (
    "--port",
    "--dashboard-port",
    "--dashboard-agent-listen-port",
    "--dashboard-agent-grpc-port",
    "--runtime-env-agent-port",
    "--metrics-export-port",
    "--ray-client-server-port",
    "--node-manager-port",
    "--object-manager-port",
)
PORT_VARIABLES = ("AUTOSCALER_METRIC_PORT", "DASHBOARD_METRIC_PORT")  # without options; two Rays would collide


class LocalRay:
    """A Ray head node that runs jobs, with a token if given; `stop` leaves none of its processes and files."""

    def __init__(
        self,
        folder: pathlib.Path,
        token: str = "",
        further: dict[str, str] | None = None,
        *,
        options: Sequence[str] = OPTIONS,
    ) -> None:
        ports = dict(zip(PORT_OPTIONS + PORT_VARIABLES, free_ports(len(PORT_OPTIONS + PORT_VARIABLES)), strict=True))
        self.origin = f"ray {_version()} on this machine"
        self.dashboard_url = f"http://127.0.0.1:{ports['--dashboard-port']}"
        self.address = f"127.0.0.1:{ports['--port']}"
        self._agent_url = f"http://127.0.0.1:{ports['--dashboard-agent-listen-port']}"
        self.token = token or None
        self._folder = folder
        environment = _environment(ports) | (_token_environment(token) if token else {}) | (further or {})
        self._process = Process("ray", _command(folder, ports, options), folder / "log", environment=environment)

    @classmethod
    def start(
        cls,
        parent: pathlib.Path,
        token: str = "",
        further: dict[str, str] | None = None,
        *,
        options: Sequence[str] = OPTIONS,
    ) -> "LocalRay":
        """Start a head, with `further` variables, and wait until its dashboard answers and takes jobs."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ray-", dir=parent))
        if len(str(folder)) > LONGEST_FOLDER:
            raise Unavailable(f"{folder} is too long a path for Ray's sockets: set TMPDIR to a shorter folder")
        ray = cls(folder, token, further, options=options)
        try:
            ray.up()
        except BaseException:
            ray.stop()
            raise
        return ray

    def up(self) -> None:
        """Start it (again, with nothing that it knew before), and wait until its dashboard takes jobs."""
        for tries_left in reversed(range(START_TRIES)):
            self._process.start()
            try:
                self._process.wait_until("its dashboard takes jobs", self._takes_jobs, limit_seconds=UP_LIMIT_SECONDS)
            except PartFailed:
                if self._process.alive or not tries_left:
                    raise
            else:
                return

    def down(self) -> None:
        """End Ray, its workers and the jobs they run."""
        self._process.stop()

    def stop(self) -> None:
        """The same, and remove its files."""
        self.down()
        shutil.rmtree(self._folder, ignore_errors=True)

    def log_tail(self) -> str:
        """The end of Ray's own log."""
        return self._process.tail()

    def _takes_jobs(self) -> bool:
        """The head's agent runs the jobs; it comes up later than the dashboard."""
        return (
            _got(f"{self.dashboard_url}/api/version", self.token) is not None
            and _got(f"{self._agent_url}/api/local_raylet_healthz", self.token) == "success"
        )


def _version() -> str:
    try:
        return importlib.metadata.version("ray")
    except importlib.metadata.PackageNotFoundError:
        raise Unavailable("Ray is not installed: run `make setup`") from None


def _command(folder: pathlib.Path, ports: dict[str, int], options: Sequence[str]) -> list[str]:
    ray = pathlib.Path(sys.executable).parent / "ray"
    chosen = [f"{option}={ports[option]}" for option in PORT_OPTIONS]
    place = [f"--temp-dir={folder}", "--node-ip-address=127.0.0.1", "--dashboard-host=127.0.0.1"]
    anywhere = ["--min-worker-port=0", "--max-worker-port=0"]
    quiet = ["--log-style=record", "--log-color=false"]
    head = [str(ray), "start", "--head", "--block", *place, *chosen, *anywhere, *options, *quiet]
    return [sys.executable, "-I", keeper.__file__, *head]


def _environment(ports: dict[str, int]) -> dict[str, str]:
    return {
        **{name: str(ports[name]) for name in PORT_VARIABLES},
        "PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # the Python of the jobs
        "PYTHONDONTWRITEBYTECODE": "",  # Ray starts twenty Pythons; compiling it in each of them takes half a minute
        "RAY_ADDRESS": "",
        "RAY_USAGE_STATS_ENABLED": "0",
    }


def _token_environment(token: str) -> dict[str, str]:
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}


def _got(url: str, token: str | None) -> str | None:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=2) as answer:
            text: str = answer.read().decode()
            return text
    except urllib.error.HTTPError as error:
        error.close()
    except OSError:
        return None
    return None
