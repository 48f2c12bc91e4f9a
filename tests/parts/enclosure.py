"""A part of this machine for programs that set up networks and mounts: what they do there is not seen outside."""

import ipaddress
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence

from tests.parts.process import PartFailed, Process, wait_until

LINKS = ipaddress.IPv4Network("198.18.0.0/15")  # set aside for tests of networks: nobody's real addresses
LINK_SIZE = 4  # the network's own address, the machine's, the enclosure's, broadcast
START_LIMIT_SECONDS = 30
COMMAND_LIMIT_SECONDS = 120
END_LIMIT_SECONDS = 30
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"  # not on everybody's PATH


class Enclosure:
    """Network, mount and process namespaces of their own, joined to this machine by one link; needs root.

    Its first process ends with this Python process, and everything else in it ends with its first process.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        (folder / "scratch").mkdir(parents=True)
        self.folder = folder
        self.address = self.outer_address = self.link = ""
        self._first = Process("enclosure", _first_command(folder), folder / "enclosure.log", environment=environment())

    @property
    def pid(self) -> int:
        """The process that keeps it open."""
        return self._first.pid

    @property
    def prefix(self) -> list[str]:
        """What comes before a command that is to run inside."""
        spaces = f"/proc/{self.pid}/ns"
        return ["nsenter", f"--net={spaces}/net", f"--mount={spaces}/mnt", f"--pid={spaces}/pid_for_children", "--"]

    def open(self) -> None:
        """Make the namespaces and the link; afterwards both addresses are known."""
        self._first.start()
        ready = self.folder / "ready"
        self._first.wait_until("its folders are mounted", ready.exists, limit_seconds=START_LIMIT_SECONDS)
        self._connect()

    def run(self, *command: str, limit_seconds: float = COMMAND_LIMIT_SECONDS) -> str:
        """Run a command inside; its output, or PartFailed with what it said."""
        return _run(*self.prefix, *command, limit_seconds=limit_seconds)

    def process(self, name: str, command: Sequence[str], log: pathlib.Path) -> Process:
        """A program that is to run inside."""
        return Process(name, [*self.prefix, *command], log, environment=environment())

    def close(self) -> None:
        """End everything inside; return when the kernel has taken the link away too."""
        self._first.stop()
        what = f"the network of {self.folder} is gone"
        wait_until(what, lambda: not self._has_link(), limit_seconds=END_LIMIT_SECONDS)

    def tail(self, lines: int = 25) -> str:
        """What the first process said last."""
        return self._first.tail(lines)

    def _has_link(self) -> bool:
        return self.link != "" and pathlib.Path("/sys/class/net", self.link).exists()

    def _connect(self) -> None:
        """One link for each enclosure; the number of its first process keeps those of several runs apart."""
        pid = self.pid
        start = LINKS.network_address + pid * LINK_SIZE % LINKS.num_addresses
        self.outer_address, self.address, self.link = str(start + 1), str(start + 2), f"manta{pid}"
        _run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
        _run("ip", "address", "add", f"{self.outer_address}/30", "dev", self.link)
        _run("ip", "link", "set", self.link, "up")
        self.run("ip", "address", "add", f"{self.address}/30", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")


def environment() -> dict[str, str]:
    """For programs in an enclosure: system programs are found whoever calls, and no proxy is."""
    return {"PATH": f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_PATH}", "NO_PROXY": "*", "no_proxy": "*"}


def _first_command(folder: pathlib.Path) -> list[str]:
    program = pathlib.Path(__file__).with_name("enclosure_init.py")
    # slave: what is unmounted outside is unmounted inside, and nothing the other way round
    spaces = ["--net", "--mount", "--propagation=slave", "--pid", "--mount-proc"]
    return ["unshare", *spaces, "--fork", "--kill-child", "--", sys.executable, "-I", "-S", str(program), str(folder)]


def _run(*command: str, limit_seconds: float = COMMAND_LIMIT_SECONDS) -> str:
    shown = " ".join(command)
    try:
        done = subprocess.run(
            command,
            env=os.environ | environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PartFailed(f"not done after {limit_seconds:g} s: {shown}") from None
    if done.returncode:
        raise PartFailed(f"exit code {done.returncode}: {shown}\n{done.stdout}{done.stderr}")
    return done.stdout
