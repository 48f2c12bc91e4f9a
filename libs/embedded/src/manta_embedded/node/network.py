"""The network of pods on this machine: a bridge, and a link to it from every pod."""

import contextlib
import ipaddress

from manta_common.errors import Misconfigured
from manta_embedded.node.pid1.netlink import Links

LOOPBACK = "127.0.0.1"
HOST_PREFIX = 32


class Network:
    """Addresses for pods; with a bridge each has one of its own, without one all share the machine's loopback."""

    def __init__(self, bridge: str, subnet: str) -> None:
        self.bridge = bridge
        self._subnet = ipaddress.IPv4Network(subnet)
        self.gateway = str(self._subnet.network_address + 1) if bridge else LOOPBACK
        self._next = int(self._subnet.network_address) + 2
        self._used: set[str] = set()

    @property
    def prefix(self) -> int:
        """How many bits of an address are the network's."""
        return self._subnet.prefixlen

    def open(self) -> None:
        """Have the bridge. One that is there stays, for somebody may listen on its address already."""
        if not self.bridge:
            return
        with contextlib.closing(Links()) as links:
            try:
                links.add_bridge(self.bridge)
                links.add_address(self.bridge, self.gateway, self.prefix)
                links.up(self.bridge)
            except FileExistsError:
                return
            except OSError as error:
                why = f"the network {self._subnet} of pods cannot be set up: {error}; choose another subnet"
                raise Misconfigured(why) from error

    def close(self) -> None:
        """Take the bridge away."""
        if self.bridge:
            with contextlib.closing(Links()) as links:
                links.remove(self.bridge)

    def add(self, address: str) -> None:
        """Have one more address on the bridge, for a service; one that is there already is fine."""
        with contextlib.closing(Links()) as links, contextlib.suppress(FileExistsError):
            links.add_address(self.bridge, address, HOST_PREFIX)

    def drop(self, address: str) -> None:
        """Have it no longer; the bridge may be gone before it."""
        with contextlib.closing(Links()) as links, contextlib.suppress(OSError):
            links.remove_address(self.bridge, address, HOST_PREFIX)

    def take(self) -> str:
        """A free address for a pod."""
        if not self.bridge:
            return LOOPBACK
        last = int(self._subnet.broadcast_address) - 1
        for _ in range(self._subnet.num_addresses):
            address = str(ipaddress.IPv4Address(self._next))
            self._next = self._next + 1 if self._next < last else int(self._subnet.network_address) + 2
            if address not in self._used:
                self._used.add(address)
                return address
        raise Misconfigured(f"all addresses of {self._subnet} are in use")

    def plug(self, uid: str, pid: int) -> None:
        """Connect the pod whose first process this is; its link is called eth0 inside."""
        if self.bridge:
            with contextlib.closing(Links()) as links:
                links.remove(_link(uid))
                links.add_pair(_link(uid), peer="eth0", pid=pid)
                links.attach(_link(uid), self.bridge)

    def release(self, uid: str, address: str) -> None:
        """A pod is gone; the kernel takes its link away by and by, this does so at once."""
        self._used.discard(address)
        if self.bridge:
            with contextlib.closing(Links()) as links:
                links.remove(_link(uid))


def _link(uid: str) -> str:
    return f"mp{uid.replace('-', '')[:12]}"
