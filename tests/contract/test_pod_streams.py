"""kubectl logs, exec and port-forward, through the embedded API to a node that does as it is told."""

import asyncio
import contextlib
import subprocess
import urllib.request
from collections.abc import AsyncGenerator, Iterator

import pytest

from manta_common.keys import Key
from manta_embedded.api.machine import Command, LogQuery, Terminal
from manta_embedded.store.objects import Obj
from tests.parts.embedded_api import EmbeddedCluster
from tests.parts.patience import patient
from tests.tools.catalogue import TOOLS

LIMIT_SECONDS = 30
POD = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "main", "image": "example/none:1"}]}}


class EchoNode:
    """Answers with what it was asked, and serves HTTP on every port."""

    async def logs(self, pod: Obj, query: LogQuery) -> AsyncGenerator[bytes, None]:
        yield f"log of {pod['metadata']['name']}/{query.container}\n".encode()
        yield f"tail {query.tail_lines}, follow {query.follow}\n".encode()

    async def run(self, pod: Obj, command: Command, terminal: Terminal) -> int:
        if command.argv[0] == "fail":
            await terminal.stderr(b"it failed\n")
            return 3
        while command.stdin and (chunk := await terminal.read()):
            await terminal.stdout(chunk.upper())
        await terminal.stdout(" ".join(command.argv).encode() + b"\n")
        return 0

    async def connect(self, pod: Obj, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if port == 9:
            raise ConnectionRefusedError("nobody listens on port 9")
        server = await asyncio.start_server(_greet, "127.0.0.1", 0)
        return await asyncio.open_connection(*server.sockets[0].getsockname())


async def _greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    body = b"x" * 200_000
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    await writer.drain()
    writer.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """The embedded API with such a node, and a pod on it."""
    found = EmbeddedCluster.start(tmp_path_factory.mktemp("streams"), EchoNode())
    found.request("POST", "api/v1/namespaces/default/pods", POD)
    found.do(lambda api: api.store.bind(Key("default", "one"), "node"))
    status = {"status": {"phase": "Running"}}
    path = "api/v1/namespaces/default/pods/one/status"
    found.request("PATCH", path, status, "application/merge-patch+json")
    yield found
    found.stop()


def kubectl(cluster: EmbeddedCluster, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(TOOLS["kubectl"].path), "--kubeconfig", str(cluster.kubeconfig), *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=patient(LIMIT_SECONDS),
        check=False,
    )


def test_a_log(cluster: EmbeddedCluster) -> None:
    assert kubectl(cluster, "logs", "one", "--tail=5").stdout == "log of one/main\ntail 5, follow False\n"
    assert kubectl(cluster, "logs", "one", "-f").stdout.endswith("follow True\n")


def test_what_a_container_says_from_now_on(cluster: EmbeddedCluster) -> None:
    assert kubectl(cluster, "attach", "one").stdout == "log of one/main\ntail 0, follow True\n"
    refused = kubectl(cluster, "attach", "-i", "one")
    assert (refused.returncode, "use `kubectl exec -i`" in refused.stderr) == (1, True), refused.stderr


def test_a_log_of_a_container_that_is_not_there(cluster: EmbeddedCluster) -> None:
    found = kubectl(cluster, "logs", "one", "-c", "other")
    assert (found.returncode, "container other is not valid for pod one" in found.stderr) == (1, True)


def test_a_command(cluster: EmbeddedCluster) -> None:
    found = kubectl(cluster, "exec", "one", "--", "say", "hello")
    assert (found.returncode, found.stdout) == (0, "say hello\n")


def test_a_command_that_reads(cluster: EmbeddedCluster) -> None:
    found = kubectl(cluster, "exec", "-i", "one", "--", "shout", given="quiet\n" * 10_000)
    assert (found.returncode, found.stdout) == (0, "QUIET\n" * 10_000 + "shout\n")


def test_a_command_that_fails(cluster: EmbeddedCluster) -> None:
    found = kubectl(cluster, "exec", "one", "--", "fail")
    assert found.returncode == 3
    assert "it failed\n" in found.stderr
    assert "command terminated with exit code 3" in found.stderr


@contextlib.contextmanager
def forwarded(cluster: EmbeddedCluster, port: int) -> Iterator[str]:
    command = [
        str(TOOLS["kubectl"].path),
        "--kubeconfig",
        str(cluster.kubeconfig),
        "port-forward",
        "pod/one",
        f":{port}",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()  # Forwarding from 127.0.0.1:4711 -> 80
        yield f"http://{line.split()[2]}/"
    finally:
        process.terminate()
        process.communicate(timeout=patient(LIMIT_SECONDS))


def test_a_port(cluster: EmbeddedCluster) -> None:
    with forwarded(cluster, 80) as url:
        for _ in range(3):  # each a connection of its own
            with urllib.request.urlopen(url, timeout=patient(LIMIT_SECONDS)) as answer:
                assert len(answer.read()) == 200_000


def test_a_port_where_nobody_listens(cluster: EmbeddedCluster) -> None:
    with forwarded(cluster, 9) as url, pytest.raises(OSError, match=r"."):
        urllib.request.urlopen(url, timeout=patient(LIMIT_SECONDS))
