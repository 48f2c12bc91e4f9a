"""Calls to the Linux kernel that Python 3.11 has no function for. Standard library only."""

import ctypes
import os
import platform

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_UNBINDABLE, MS_PRIVATE = 4096, 16384, 1 << 17, 1 << 18
MNT_DETACH = 2
PR_SET_CHILD_SUBREAPER = 36
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}  # glibc has no function for it


def unshare(flags: int) -> None:
    """Leave namespaces for new ones."""
    _done(_libc().unshare(flags), "unshare")


def enter(namespace: str, flag: int) -> None:
    """Join a namespace by its file under /proc."""
    descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _done(_libc().setns(descriptor, flag), f"setns {namespace}")
    finally:
        os.close(descriptor)


def mount(source: str, target: str, *, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount something; OSError names the target."""
    result = _libc().mount(
        os.fsencode(source), os.fsencode(target), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None
    )
    _done(result, f"mount {target}")


def bind(source: str, target: str, *, readonly: bool = False) -> None:
    """Show a file or folder, with what is mounted under it, at another place too."""
    mount(source, target, flags=MS_BIND | MS_REC)
    if readonly:
        # What is locked to a mount, such as nosuid, must be said again, or a user namespace may not change it.
        kept = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
        mount("", target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY | kept)


def make_private() -> None:
    """What is mounted from now on is not seen outside of this mount namespace."""
    mount("", "/", flags=MS_REC | MS_PRIVATE)


def pivot(root: str) -> None:
    """Make a mounted folder the root, and let go of the old one."""
    os.chdir(root)
    _done(_libc().syscall(ctypes.c_long(PIVOT_ROOT[platform.machine()]), b".", b"."), f"pivot_root {root}")
    _done(_libc().umount2(b".", MNT_DETACH), "umount the old root")
    os.chdir("/")


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent ends."""
    _done(_libc().prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def set_hostname(name: str) -> None:
    """Name this UTS namespace."""
    text = name.encode()
    _done(_libc().sethostname(text, len(text)), "sethostname")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _done(result: int, what: str) -> None:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
