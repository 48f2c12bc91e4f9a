"""Container images made of files on this machine, without an engine or a registry."""

import dataclasses
import hashlib
import io
import json
import pathlib
import platform
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from typing import Any

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclasses.dataclass(frozen=True)
class Image:
    """Files or whole folders of this machine by their path in the image, and how it starts; one layer over others."""

    name: str
    contents: Mapping[str, pathlib.Path]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    user: str = ""
    working_folder: str = ""
    beneath: tuple[pathlib.Path, ...] = ()  # layers as tars

    def write(self, archive: pathlib.Path) -> pathlib.Path:
        """Write it as an archive that `docker load` and `ctr images import` take."""
        layer = archive.with_suffix(".layer")
        with tarfile.open(layer, "w") as tar:
            for name, path in self.contents.items():
                tar.add(path.resolve(), arcname=name or ".", filter=_as_root)
        self._write_archive(archive, {_digest(path): path for path in (*self.beneath, layer)})
        layer.unlink()
        return archive

    def _write_archive(self, archive: pathlib.Path, layers: Mapping[str, pathlib.Path]) -> None:
        config = json.dumps(self._config(layers)).encode()
        config_name = f"{hashlib.sha256(config).hexdigest()}.json"
        manifest = [{"Config": config_name, "RepoTags": [self.name], "Layers": [f"{digest}.tar" for digest in layers]}]
        with tarfile.open(archive, "w") as tar:
            for digest, layer in layers.items():
                tar.add(layer, arcname=f"{digest}.tar", filter=_as_root)
            for name, text in ((config_name, config), ("manifest.json", json.dumps(manifest).encode())):
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                tar.addfile(entry, io.BytesIO(text))

    def _config(self, digests: Iterable[str]) -> dict[str, Any]:
        variables = {"PATH": PATH, **self.environment}
        return {
            "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "config": {
                "Entrypoint": list(self.entrypoint),
                "Cmd": list(self.command),
                "Env": [f"{name}={value}" for name, value in variables.items()],
                "User": self.user,
                "WorkingDir": self.working_folder,
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
        }


def pause_image(name: str, busybox: pathlib.Path) -> Image:
    """What holds the namespaces of a pod: it does nothing, for 68 years."""
    return Image(name, {"busybox": busybox}, entrypoint=("/busybox", "sleep", "2147483647"))


def busybox_image(name: str, busybox: pathlib.Path, folder: pathlib.Path) -> Image:
    """A shell and the usual small programs; `folder` is where its tree is put together."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    said = subprocess.run([busybox, "--list"], capture_output=True, text=True, timeout=20, check=True).stdout
    for program in set(said.split()) - {"busybox"}:
        (programs / program).symlink_to("busybox")
    return Image(name, {"bin": programs, "bin/busybox": busybox}, command=("sh",))


def _digest(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry
