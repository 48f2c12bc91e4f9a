"""The files that a container sees: this machine's, with its own /tmp and /run and with volumes at their mount paths.

Nothing of it is on a disk: the new root is a tmpfs in a private mount namespace, and so are the folders that have to be
made on the way to a mount path (`_mirror`). Standard library only.
"""

import errno
import os
import pathlib
import re
import stat
from typing import Any

from manta_embedded.node.pid1 import kernel

OWN = ("tmp", "run")  # folders at the top that every container has for itself
UNSEEN = re.compile(r"(tty\d+|ttyS\d+|loop\d+|vcs\w*)$")  # devices that nobody in a pod needs
MOST_LINKS = 40
Mount = dict[str, Any]  # target, source, readonly


def enter(place: str, mounts: list[Mount]) -> None:
    """Build the root at an empty folder in a new mount namespace, and move there."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.make_private()
    kernel.mount("tmpfs", place, kind="tmpfs", options="mode=755")
    kernel.mount("", place, flags=kernel.MS_UNBINDABLE)  # else the folder that holds it would show it again
    root = _Root(place)
    root.fill()
    for mount in sorted(mounts, key=lambda mount: mount["target"].count("/")):
        root.mount(mount)
    kernel.pivot(place)


class _Root:
    """A root that is being built."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._mounted = {place: True}  # what is mounted where, and whether folders may be made in it

    def fill(self) -> None:
        """Show everything that is at the top of this machine, but for what a container has for itself."""
        for entry in os.scandir("/"):
            target = f"{self._place}/{entry.name}"
            if entry.name in OWN:
                _make(target, folder=True)
            else:
                self._show(entry.path, target)

    def mount(self, mount: Mount) -> None:
        """Mount one thing; folders and files on the way are made as need be."""
        target = self._ensured(mount["target"], folder=pathlib.Path(mount["source"]).is_dir())
        kernel.bind(mount["source"], target, readonly=mount["readonly"])
        self._mounted[target] = not mount["readonly"]

    def _ensured(self, path: str, *, folder: bool) -> str:
        """Where a path of the container is now, made if it was not there; links are followed as in the new root."""
        parts, here, links = path.strip("/").split("/"), self._place, 0
        while parts:
            part = parts.pop(0)
            following = self._following(here, part)
            if pathlib.Path(following).is_symlink():
                links += 1
                text = str(pathlib.Path(following).readlink())
                here = self._place if text.startswith("/") else here
                parts = [*text.strip("/").split("/"), *parts]
            else:
                self._make(following, folder=bool(parts) or folder)
                here = following
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, f"too many symbolic links in {path}")
        return here

    def _following(self, here: str, part: str) -> str:
        if part == "..":
            return str(pathlib.Path(here).parent) if here != self._place else here
        return here if part in ("", ".") else f"{here}/{part}"

    def _make(self, path: str, *, folder: bool) -> None:
        if os.path.lexists(path):
            return
        parent = str(pathlib.Path(path).parent)
        above = max((at for at in self._mounted if parent == at or parent.startswith(f"{at}/")), key=len)
        if not self._mounted[above]:
            self._mirror(parent)
        _make(path, folder=folder)

    def _mirror(self, folder: str) -> None:
        """Cover a folder with one in memory that shows the same entries, in which more can be made."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            names = [entry.name for entry in os.scandir(descriptor)]
            kernel.mount("tmpfs", folder, kind="tmpfs", options=f"mode={mode:o}")
            self._mounted[folder] = True
            for name in names:
                if not (folder.endswith("/dev") and UNSEEN.match(name)):
                    self._show(f"/proc/self/fd/{descriptor}/{name}", f"{folder}/{name}")
        finally:
            os.close(descriptor)

    def _show(self, source: str, target: str) -> None:
        """The same entry at another place; one that is gone by now is left out."""
        try:
            shown = pathlib.Path(source)
            if shown.is_symlink():
                pathlib.Path(target).symlink_to(shown.readlink())
                return
            _make(target, folder=shown.is_dir())
            kernel.bind(source, target)
            self._mounted[target] = False
        except FileNotFoundError:
            return


def _make(path: str, *, folder: bool) -> None:
    if folder:
        pathlib.Path(path).mkdir(0o755)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
