"""What a real node needs of the system's packages: found, or installed where that is allowed."""

import contextlib
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterator

from tests.parts.enclosure import environment
from tests.parts.process import Unavailable

PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
}
NETWORK_PLUGINS = ("ptp", "host-local", "portmap", "loopback")
NETWORK_PLUGIN_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni")
POLICY = pathlib.Path("/usr/sbin/policy-rc.d")
APT_LIMIT_SECONDS = 300


def ensure() -> None:
    """Return when all packages are there; else Unavailable, which says what to install."""
    if os.geteuid() != 0:
        raise Unavailable("a node needs namespaces, mounts and control groups: run the tests as root")
    packages = missing()
    if not packages:
        return
    if not _may_install() or not shutil.which("apt-get"):
        raise Unavailable(
            f"packages are missing: install {' '.join(packages)} (on Debian MANTA_TEST_NODE=install does it)"
        )
    _install(packages)
    still = missing()
    if still:
        raise Unavailable(f"installed, but their programs are not to be found: {' '.join(still)}")


def missing() -> list[str]:
    """The Debian packages whose programs this machine lacks."""
    path = environment()["PATH"]
    found = {package for program, package in PROGRAMS.items() if shutil.which(program, path=path) is None}
    if network_plugins() is None:
        found.add("containernetworking-plugins")
    if busybox() is None:
        found.add("busybox-static")
    return sorted(found)


def network_plugins() -> pathlib.Path | None:
    """The folder of the network plugins."""
    folders = (pathlib.Path(folder) for folder in NETWORK_PLUGIN_FOLDERS)
    return next((folder for folder in folders if all((folder / name).exists() for name in NETWORK_PLUGINS)), None)


def busybox() -> pathlib.Path | None:
    """A busybox that needs no libraries."""
    found = shutil.which("busybox", path=environment()["PATH"])
    if found is None or b"/ld-" in pathlib.Path(found).read_bytes()[:4096]:  # names the loader of its libraries
        return None
    return pathlib.Path(found)


def _may_install() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true") or os.environ.get("MANTA_TEST_NODE") == "install"


def _install(packages: list[str]) -> None:
    with _services_stay_off():
        _apt("update")
        _apt("install", "--yes", "--no-install-recommends", *packages)


@contextlib.contextmanager
def _services_stay_off() -> Iterator[None]:
    """Packages start their services unless this file says no; one that is there already is left alone."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()


def _apt(*arguments: str) -> None:
    try:
        done = subprocess.run(
            ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120", *arguments],
            env=os.environ | {"PATH": environment()["PATH"], "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=APT_LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"`apt-get {arguments[0]}` was not done after {APT_LIMIT_SECONDS} s") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it gave no reason").splitlines()[-1]
        raise Unavailable(f"`apt-get {arguments[0]}` failed with exit code {done.returncode}: {said}")
