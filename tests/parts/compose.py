"""docker-compose.yml on a Docker engine, with a way from its containers to an API server of this machine."""

import asyncio
import base64
import contextlib
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

from tests.parts.cluster import Cluster
from tests.parts.process import PartFailed, Unavailable
from tests.tools import images, product

FILE = pathlib.Path(__file__).parents[2] / "docker-compose.yml"
LIMIT_SECONDS = 240
CHUNK = 64 * 1024


class Compose:
    """One project of docker-compose.yml, with images that were built from these sources."""

    def __init__(self, image: str, kubeconfig: pathlib.Path) -> None:
        self.project = f"manta-test-{secrets.token_hex(3)}"
        self._compose = compose_command()
        self._environment = os.environ | {
            "MANTA_IMAGE": image,
            "NATS_IMAGE": images.nats_image(),
            "MANTA_KUBECONFIG": str(kubeconfig),
        }

    def run(self, *arguments: str) -> str:
        """Run compose; its output, or PartFailed with what it said."""
        command = [*self._compose, "--project-name", self.project, "--file", str(FILE), *arguments]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
        if done.returncode:
            raise PartFailed(f"compose {' '.join(arguments)}: exit code {done.returncode}: {done.stderr[-3000:]}")
        return done.stdout

    def containers(self, service: str | None = None) -> list[Any]:
        """The project's containers, of one service or all."""
        labels = [f"com.docker.compose.project={self.project}"]
        labels += [f"com.docker.compose.service={service}"] if service else []
        with images.client() as found:
            return list(found.containers.list(all=True, filters={"label": labels}))

    def left(self) -> list[str]:
        """What is left of the project: containers, networks, volumes."""
        mark = {"label": f"com.docker.compose.project={self.project}"}
        with images.client() as found:
            kinds = (found.containers.list(all=True, filters=mark), found.networks.list(filters=mark))
            return [one.name for kind in (*kinds, found.volumes.list(filters=mark)) for one in kind]

    def metric(self, container: Any, name: str) -> float:
        """The sum of a metric of one replica; nothing yet is 0."""
        networks: dict[str, Any] = container.attrs["NetworkSettings"]["Networks"]
        (address,) = (one["IPAddress"] for one in networks.values())
        try:
            with urllib.request.urlopen(f"http://{address}:8080/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return 0.0
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))


def compose_command() -> list[str]:
    """How compose is called here: Docker's plug-in, or the program of its own that Debian has."""
    client = shutil.which("docker")
    if client and subprocess.run([client, "compose", "version"], capture_output=True, check=False).returncode == 0:
        return [client, "compose"]
    found = shutil.which("docker-compose")
    if found is None:
        raise Unavailable("there is no docker compose: install the plug-in, or docker-compose on Debian 12")
    return [found]


def ensure_compose() -> None:
    """Install compose in CI on Debian when it is missing."""
    with contextlib.suppress(Unavailable):
        compose_command()
        return
    if os.environ.get("CI", "").lower() in ("1", "true") and os.geteuid() == 0 and shutil.which("apt-get"):
        product.run("apt-get", "-qq", "update")
        product.run("apt-get", "-qq", "install", "--yes", "--no-install-recommends", "docker-compose")


def gateway() -> str:
    """The address of this machine that containers can call."""
    with images.client() as found:
        found_network = found.networks.get("bridge").attrs
    address: str = found_network["IPAM"]["Config"][0].get("Gateway", "172.17.0.1")
    return address


def kubeconfig_for_containers(cluster: Cluster, port: int, path: pathlib.Path) -> pathlib.Path:
    """A kubeconfig that leads containers to a relay, with everything in it."""
    ca = base64.b64encode(cluster.ca.read_bytes()).decode()
    server = f"https://{gateway()}:{port}"
    place = {"server": server, "certificate-authority-data": ca, "tls-server-name": "localhost"}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": place}],
        "users": [{"name": "test", "user": {"token": cluster.token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }
    path.write_text(json.dumps(document))
    path.chmod(0o644)  # the containers' user is not this one
    return path


@contextlib.contextmanager
def relay(address: str, host: str, port: int) -> Iterator[int]:
    """A port of one address that leads to a server of this machine, in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="relay", daemon=True)
    thread.start()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            onward_reader, onward_writer = await asyncio.open_connection(host, port)
            await asyncio.gather(_pass(reader, onward_writer), _pass(onward_reader, writer))

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(accept, address, 0)

    async def end() -> None:
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(listen(), loop).result(20)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    except OSError:
        return  # one side went: the other is told by the end of its stream
    finally:
        writer.close()
