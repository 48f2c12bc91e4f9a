"""The files of pods on this machine: where they are, written and removed."""

import os
import pathlib
import shutil
from collections.abc import Collection

from manta_embedded.node.faults import config_error
from manta_embedded.node.volumes import Mount, Volume
from manta_embedded.store.objects import Obj

RESOLVER = "# Names are in /etc/hosts; there is no name server.\n"
HOST_KINDS = {"Directory": os.path.isdir, "File": os.path.isfile, "": os.path.exists}


class PodFiles:
    """The folder of one pod."""

    def __init__(self, folder: pathlib.Path, pod: Obj) -> None:
        self.folder: pathlib.Path = folder / "pods" / str(pod["metadata"]["uid"])
        self._claims = folder / "claims"
        for name in ("root", "shm", "volumes", "containers", "logs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "resolv.conf").write_text(RESOLVER)
        self.hosts.touch()

    @property
    def hosts(self) -> pathlib.Path:
        """The file of names that its containers see as /etc/hosts."""
        return self.folder / "hosts"

    @property
    def shared_memory(self) -> pathlib.Path:
        """Where the memory is that containers without a volume of their own see as /dev/shm."""
        return self.folder / "shm"

    def write_hosts(self, text: str) -> None:
        """In place: a file that is mounted somewhere cannot be replaced."""
        if self.hosts.read_text() != text:
            with self.hosts.open("r+") as file:
                file.write(text)
                file.truncate()

    def log(self, container: str, attempt: int) -> pathlib.Path:
        """The log of one life of a container."""
        folder = self.folder / "logs" / container
        folder.mkdir(exist_ok=True)
        return folder / f"{attempt}.log"

    def scratch(self, container: str, attempt: int) -> pathlib.Path:
        """What a container has for itself during one life: tmp, run and its last words; earlier lives' are removed."""
        own = self.folder / "containers" / container
        shutil.rmtree(own, ignore_errors=True)
        scratch = own / str(attempt)
        for name in ("tmp", "run"):
            (scratch / name).mkdir(parents=True)
            (scratch / name).chmod(0o1777)
        (scratch / "termination-log").touch()
        return scratch

    def last_words(self, container: str, attempt: int) -> str:
        """What a container wrote to its termination log."""
        path = self.folder / "containers" / container / str(attempt) / "termination-log"
        try:
            with path.open("rb") as file:
                return file.read(4096).decode(errors="replace")
        except FileNotFoundError:
            return ""

    def write_volume(self, volume: Volume, tokens: dict[str, str]) -> None:
        """Have the folder of a volume, with its files."""
        if volume.host:
            _check_host(volume)
            return
        folder = self.place(volume)
        folder.mkdir(parents=True, exist_ok=True)
        for file in volume.files:
            _write(folder / file.path, file.content, file.mode)
        for path, token in tokens.items():
            _write(folder / path, token.encode(), 0o600)

    def source(self, volume: Volume, mount: Mount) -> str:
        """What is mounted: the volume, or a part of it, which is made if need be."""
        place = pathlib.Path(volume.host) if volume.host else self.place(volume)
        if mount.part:
            place = place / mount.part
            if not place.exists():
                place.mkdir(parents=True)
        return str(place)

    def place(self, volume: Volume) -> pathlib.Path:
        """The folder of a volume that is not the host's."""
        return self._claims / volume.kept if volume.kept else self.folder / "volumes" / volume.name

    def remove(self) -> None:
        """Everything of the pod goes."""
        shutil.rmtree(self.folder, ignore_errors=True)


def remove_others(folder: pathlib.Path, uids: Collection[str]) -> None:
    """The files of pods that were deleted while no node looked go."""
    for found in (folder / "pods").glob("*"):
        if found.name not in uids:
            shutil.rmtree(found, ignore_errors=True)


def _write(path: pathlib.Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def _check_host(volume: Volume) -> None:
    if volume.host_kind in ("DirectoryOrCreate", "FileOrCreate"):
        path = pathlib.Path(volume.host)
        if volume.host_kind == "FileOrCreate":
            path.touch()
        else:
            path.mkdir(parents=True, exist_ok=True)
        return
    if not HOST_KINDS.get(volume.host_kind, os.path.exists)(volume.host):
        what = volume.host_kind or "path"
        raise config_error(f'volume "{volume.name}": hostPath type check failed: {volume.host} is not a {what}')
