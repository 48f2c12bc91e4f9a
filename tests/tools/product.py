"""Builds the images of Manta itself without a registry: on a Debian made by mmdebstrap or debootstrap, from wheels."""

import contextlib
import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
from typing import Any

if __package__ in (None, ""):  # started as a script
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.tools import images
from tests.tools.catalogue import cache_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGE = ROOT / "deploy" / "image"
LOCKS = (IMAGE / "requirements.lock", IMAGE / "build.lock")
TARGETS = ("manta", "submitter")
SUITE = "bookworm"
PACKAGES = ("python3", "python3-pip", "wget")  # Ray's probes need wget, for which the same base is used
LIMIT_SECONDS = 900
KEPT = 3  # images of earlier sources: two checkouts may use one engine
STAGE_LABEL = "io.manta.stage"  # what the stages of a build bear, and no finished image


def image(target: str) -> str:
    """The name under which the engine has the image of a target as the sources are now."""
    return f"manta.test/{target}:{_digest(*_sources(), *LOCKS, recipe=base_name())}"


def ensure(target: str) -> str:
    """Make sure that the engine has a target's image; its name, or ImageFailed."""
    name = image(target)  # once: somebody may be at work on the sources
    with images.client(LIMIT_SECONDS) as found:
        if not images.has(found, name):
            if not images.has(found, base_name()):
                _import(found, base(), base_name())
            _forget_others(found)
            _build(found, target, name)
    return name


def base_name() -> str:
    """The name of the Debian that the images are built on."""
    return f"manta.test/debian:{_digest(recipe=' '.join((SUITE, *PACKAGES)))}"


def base() -> pathlib.Path:
    """A small Debian with Python as a tar, kept in the cache; made, where that is allowed, when it is missing."""
    folder = cache_folder() / "images"
    kept = folder / f"{base_name().replace('/', '-').replace(':', '-')}.tar"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}.tar")
        with contextlib.ExitStack() as undo:
            undo.callback(fresh.unlink, missing_ok=True)
            _bootstrap(fresh)
            fresh.replace(kept)
    return kept


def wheels() -> pathlib.Path:
    """A folder with everything that the images' locks name, kept in the cache."""
    kept = cache_folder() / "images" / f"wheels-{_digest(*LOCKS)}"
    if not kept.exists():
        fresh = kept.with_suffix(f".{os.getpid()}")
        requirements = [part for lock in LOCKS for part in ("--requirement", str(lock))]
        pip = [_python(), "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps", "--dest", str(fresh)]
        try:
            run(*pip, *requirements)
            fresh.replace(kept)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return kept


def save(name: str, archive: pathlib.Path) -> pathlib.Path:
    """Write an image of the engine as an archive that `ctr images import` takes."""
    with images.client(LIMIT_SECONDS) as found, archive.open("wb") as file:
        for chunk in found.api.get_image(name):
            file.write(chunk)
    return archive


def run(*command: str) -> None:
    """Run a program of this machine; ImageFailed with the end of what it said when it fails."""
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, check=False, env=quiet, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LIMIT_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise images.ImageFailed(f"`{command[0]}` was not done after {LIMIT_SECONDS} s") from None
    if done.returncode:
        last = "\n".join((done.stderr.strip() or done.stdout.strip() or "it gave no reason").splitlines()[-5:])
        raise images.ImageFailed(f"`{' '.join(command[:4])} ...` failed with exit code {done.returncode}: {last}")


def _python() -> str:
    """A Python 3.11 with pip: the base has that version, and wheels are for one."""
    for python in (sys.executable, shutil.which("python3.11"), shutil.which("python3"), "/usr/bin/python3"):
        check = "import pip, sys; sys.exit(sys.version_info[:2] != (3, 11))"
        if python and subprocess.run([python, "-c", check], check=False, capture_output=True).returncode == 0:
            return python
    raise images.ImageFailed("there is no Python 3.11 with pip to fetch wheels with: install python3-pip on Debian 12")


def _bootstrap(target: pathlib.Path) -> None:
    include = f"--include={','.join(PACKAGES)}"
    if not shutil.which("mmdebstrap"):
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise images.ImageFailed("mmdebstrap is missing: install it, or run as root on Debian")
        run("apt-get", "-qq", "update")
        run("apt-get", "-qq", "install", "--yes", "--no-install-recommends", "mmdebstrap")
    # What the base is for needs no documents and no lists of packages.
    without = [f"--dpkgopt=path-exclude=/usr/share/{part}/*" for part in ("doc", "man", "locale", "info")]
    run("mmdebstrap", "--quiet", "--variant=minbase", include, *without, SUITE, str(target))


def _import(found: Any, tar: pathlib.Path, name: str) -> None:
    repository, tag = name.split(":")
    found.api.import_image_from_data(tar.read_bytes(), repository=repository, tag=tag)


def _forget_others(found: Any) -> None:
    """Remove the images of earlier sources, and what was left of building them."""
    for target in TARGETS:
        kept = found.images.list(name=f"manta.test/{target}")
        for one in sorted(kept, key=lambda one: str(one.attrs["Created"]))[:-KEPT]:
            found.images.remove(one.id, force=True)
    found.images.prune(filters={"dangling": True, "label": STAGE_LABEL, "until": "24h"})


def _build(found: Any, target: str, name: str) -> None:
    said: list[str] = []
    events = found.api.build(
        fileobj=_context(), custom_context=True, dockerfile="deploy/image/Dockerfile", target=target,
        tag=name, network_mode="none", rm=True, forcerm=True, decode=True, timeout=LIMIT_SECONDS,
        buildargs={"BASE": base_name(), "PIP_NO_INDEX": "1"},
    )  # fmt: skip
    for event in events:
        said.append(str(event.get("stream", "")))
        if "error" in event:
            raise images.ImageFailed(f"{name} cannot be built: {event['error']}\n{''.join(said[-30:])}")


def _context() -> io.BytesIO:
    """The part of the project that the Dockerfile takes, and the wheels."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path in [*_sources(), *LOCKS]:
            tar.add(path, arcname=str(path.relative_to(ROOT)))
        for path in sorted(wheels().iterdir()):
            tar.add(path, arcname=f"deploy/image/wheels/{path.name}")
    buffer.seek(0)
    return buffer


def _sources() -> list[pathlib.Path]:
    found = [path for folder in ("libs", "services") for path in (ROOT / folder).rglob("*")]
    ours = [path for path in found if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"]
    return sorted([*ours, IMAGE / "Dockerfile", IMAGE / "tree.py"])


def _digest(*paths: pathlib.Path, recipe: str = "") -> str:
    digest = hashlib.sha256(recipe.encode())
    for path in paths:
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def main() -> int:
    """Put the images of these sources into the engine; exit code 1 and one sentence when that cannot be done."""
    try:
        for target in TARGETS:
            print(f"images: {ensure(target)}", flush=True)
    except images.ImageFailed as error:
        print(f"images: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
