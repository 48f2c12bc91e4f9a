"""The first process of an enclosure: `python enclosure_init.py FOLDER`. Standard library only."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

# The kubelet writes these, for the whole machine, unless they already read as it wants them.
SEEN_BY_KUBELET = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1000000,
    "kernel/keys/root_maxbytes": 25000000,
}


def main(folder: pathlib.Path) -> None:
    """Give the enclosure file systems and a loopback of its own, say so, and reap orphans until SIGTERM."""
    _mount_private_folders(folder / "scratch")
    _mount_kernel_settings(folder / "scratch")
    _run("ip", "link", "set", "lo", "up")
    pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")  # of this network namespace only
    (folder / "ready").touch()
    _reap_until_told_to_end()


def _mount_private_folders(scratch: pathlib.Path) -> None:
    """What is written under /run, /var/log and /var/lib is not seen outside and goes with the enclosure."""
    _run("mount", "--make-rshared", "/")  # not with the outside: for volumes that pods pass on
    for folder in ("/run", "/var/log", str(scratch)):
        _run("mount", "-t", "tmpfs", "tmpfs", folder)
    for part in ("upper", "work"):
        (scratch / part).mkdir()
    layers = f"lowerdir=/var/lib,upperdir={scratch}/upper,workdir={scratch}/work"
    _run("mount", "-t", "overlay", "-o", layers, "overlay", "/var/lib")


def _mount_kernel_settings(scratch: pathlib.Path) -> None:
    for name, value in SEEN_BY_KUBELET.items():
        file = scratch / name.replace("/", "-")
        file.write_text(f"{value}\n")
        _run("mount", "--bind", str(file), f"/proc/sys/{name}")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=20)


def _reap_until_told_to_end() -> None:
    """With this process the kernel ends all others in the enclosure."""
    signals = {signal.SIGCHLD, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    while signal.sigwait(signals) == signal.SIGCHLD:
        with contextlib.suppress(ChildProcessError):  # none is left
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
