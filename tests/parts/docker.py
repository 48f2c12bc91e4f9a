"""Servers in containers, through testcontainers, where a Docker engine answers and has or gets the image."""

import contextlib
import functools
import os
import pathlib
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence

import docker.errors  # type: ignore[import-untyped]
import requests
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

from tests.parts.process import PartFailed, wait_until
from tests.parts.server import Address
from tests.tools import engine, images

OWNER_LABEL = "manta.test.owner"
END_LIMIT_SECONDS = 20


def engine_answers() -> bool:
    """Whether a Docker engine answers, found out in under two seconds."""
    return engine.answers()


@functools.cache
def can_run(image: str) -> bool:
    """Whether containers of an image can be started here: an engine answers, and has the image or gets it now."""
    if not engine_answers():
        return False
    with contextlib.suppress(images.ImageFailed):
        images.ensure(image)
        return True
    return False


class Contained:
    """One server in a container on a fixed port of this machine; its data lives as long as the container."""

    def __init__(
        self, image: str, command: Sequence[str], *, ports: tuple[int, int], files: Mapping[str, bytes] | None = None
    ) -> None:
        self.image = image
        self._command, self._files = list(command), files or {}
        self._outer_port, self._inner_port = ports
        self._container: DockerContainer | None = None
        self.address: Address = ("", 0)
        self._log = "(no log)"

    @property
    def alive(self) -> bool:
        """Whether its container runs."""
        if self._container is None:
            return False
        with _translated(self.image):
            self._container.reload()
        return self._container.status == "running"

    def start(self) -> None:
        """Make and start its container, or start it again after it was killed."""
        with _translated(self.image):
            if self._container is None:
                self._container = self._new()
                self._container.start()
            else:
                self._container.get_wrapped_container().start()
            self.address = self._container.get_container_host_ip(), self._container.get_exposed_port(self._inner_port)

    def kill(self) -> None:
        """SIGKILL to everything in the container; its data stays."""
        if self._container is not None and self.alive:
            with _translated(self.image):
                self._container.get_wrapped_container().kill()
                self._container.get_wrapped_container().wait(timeout=END_LIMIT_SECONDS)

    def wipe(self) -> None:
        """Remove its data: the next start makes a new container."""
        self.stop()

    def stop(self) -> None:
        """End and remove its container."""
        if self._container is None:
            return
        with _translated(self.image):
            self._log = self.tail()
            self._container.stop()
        self._container = None

    def tail(self, lines: int = 25) -> str:
        """The end of its log."""
        if self._container is None:
            return self._log
        with _translated(self.image):
            said: bytes = self._container.get_wrapped_container().logs(tail=lines)
        return said.decode(errors="replace")

    def wait_until(self, what: str, check: Callable[[], bool], *, limit_seconds: float) -> None:
        """Wait for a condition of this server; fail at once when its container ends."""

        def checked() -> bool:
            if check():
                return True
            if not self.alive:
                raise PartFailed(f"{self.image} ended while waiting until {what}; the end of its log:\n{self.tail()}")
            return False

        try:
            wait_until(f"{self.image}: {what}", checked, limit_seconds=limit_seconds)
        except TimeoutError as error:
            raise PartFailed(f"{error}; the end of its log:\n{self.tail()}") from None

    def _new(self) -> DockerContainer:
        _remove_forgotten()
        if not _has(testcontainers_config.ryuk_image):
            testcontainers_config.ryuk_disabled = True
        container = DockerContainer(self.image, labels={OWNER_LABEL: _owner(os.getpid())})
        container.with_command(self._command).with_bind_ports(self._inner_port, self._outer_port)
        for path, content in self._files.items():
            container.with_copy_into_container(content, path)
        return container


@contextlib.contextmanager
def _translated(image: str) -> Iterator[None]:
    try:
        yield
    except (docker.errors.DockerException, requests.RequestException, images.ImageFailed) as error:
        raise PartFailed(f"the Docker engine at {engine.host()} could not do it for {image}: {error}") from error


def _has(image: str) -> bool:
    with images.client() as client:
        return images.has(client, image)


def _remove_forgotten() -> None:
    """Remove the containers of runs on this machine that were killed; Ryuk would, but cannot be pulled everywhere."""
    with images.client() as client:
        for container in client.containers.list(all=True, filters={"label": OWNER_LABEL}):
            host, pid = container.labels[OWNER_LABEL].rsplit(":", 1)
            if host == socket.gethostname() and not pathlib.Path(f"/proc/{pid}").exists():
                with contextlib.suppress(docker.errors.NotFound):
                    container.remove(force=True, v=True)


def _owner(pid: int) -> str:
    return f"{socket.gethostname()}:{pid}"
