"""A control group for the pods of one run: made in every hierarchy of this machine, and removed for certain."""

import contextlib
import os
import pathlib
import re

from tests.parts.process import wait_until

STEM = "manta-node-"
END_LIMIT_SECONDS = 30


def name_for(owner_pid: int) -> str:
    """The name of the group that belongs to a process."""
    return f"{STEM}{owner_pid}"


def make(name: str) -> None:
    """Make a group, and remove those whose process is gone: of runs that were killed."""
    for hierarchy in _hierarchies():
        _remove_left_behind(hierarchy)
        _offer_controllers(hierarchy)
        (hierarchy / name).mkdir(exist_ok=True)


def remove(name: str) -> None:
    """Remove a group and everything below it; waits until the kernel has let go of its processes."""
    groups = [hierarchy / name for hierarchy in _hierarchies()]
    what = f"no process is left in the control group {name}"
    wait_until(what, lambda: all(map(_is_gone, groups)), limit_seconds=END_LIMIT_SECONDS)


def _hierarchies() -> list[pathlib.Path]:
    """Where groups are mounted: one folder with cgroup v2, one for each controller with v1, or both."""
    mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    return [pathlib.Path(folder) for _, folder, kind, *_ in mounts if kind in ("cgroup", "cgroup2")]


def _offer_controllers(hierarchy: pathlib.Path) -> None:
    """With cgroup v2 a group has the controllers that the one above it offers."""
    available, offered = hierarchy / "cgroup.controllers", hierarchy / "cgroup.subtree_control"
    if offered.exists():
        missing = set(available.read_text().split()) - set(offered.read_text().split())
        for controller in missing & {"cpu", "cpuset", "hugetlb", "io", "memory", "pids"}:
            offered.write_text(f"+{controller}")


def _remove_left_behind(hierarchy: pathlib.Path) -> None:
    for group in hierarchy.glob(f"{STEM}*"):
        owner = re.fullmatch(rf"{STEM}(\d+)", group.name)
        if owner and not pathlib.Path("/proc", owner[1]).exists():
            _is_gone(group)


def _is_gone(group: pathlib.Path) -> bool:
    """Remove what can be removed of a group and those below it; whether that was all of it."""
    for folder, _, _ in os.walk(group, topdown=False):  # passes over what goes meanwhile
        with contextlib.suppress(OSError):  # its processes are ending still, or another run was faster
            pathlib.Path(folder).rmdir()
    return not group.exists()
