"""Links, addresses and routes by rtnetlink, so that no program has to be installed. Standard library only."""

import errno
import ipaddress
import os
import socket
import struct

NEWLINK, DELLINK, NEWADDR, DELADDR, NEWROUTE = 16, 17, 20, 21, 24
REQUEST, ACK, EXCL, CREATE = 1, 4, 0x200, 0x400
IFNAME, MASTER, LINKINFO, NET_NS_PID, INFO_KIND, INFO_DATA, VETH_PEER = 3, 10, 18, 19, 1, 2, 1
IFF_UP = 1
ERROR = 2


class Links:
    """The links of the network namespace in which it was made."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))
        self._number = 0

    def close(self) -> None:
        """Let go of the socket."""
        self._socket.close()

    def add_bridge(self, name: str) -> None:
        """Make a bridge; FileExistsError when there is one."""
        info = _attribute(INFO_KIND, b"bridge\0")
        self._link(NEWLINK, CREATE | EXCL, 0, _attribute(IFNAME, _text(name)) + _attribute(LINKINFO, info))

    def add_pair(self, name: str, *, peer: str, pid: int) -> None:
        """Make two connected links: one here, the other in the network namespace of a process."""
        inner = _link_header(0) + _attribute(IFNAME, _text(peer)) + _attribute(NET_NS_PID, struct.pack("=I", pid))
        info = _attribute(INFO_KIND, b"veth\0") + _attribute(INFO_DATA, _attribute(VETH_PEER, inner))
        self._link(NEWLINK, CREATE | EXCL, 0, _attribute(IFNAME, _text(name)) + _attribute(LINKINFO, info))

    def attach(self, name: str, bridge: str) -> None:
        """Plug a link into a bridge and switch it on."""
        master = _attribute(MASTER, struct.pack("=I", socket.if_nametoindex(bridge)))
        self._link(NEWLINK, 0, socket.if_nametoindex(name), master, up=True)

    def up(self, name: str) -> None:
        """Switch a link on."""
        self._link(NEWLINK, 0, socket.if_nametoindex(name), b"", up=True)

    def remove(self, name: str) -> None:
        """Remove a link, and with one of a pair the other; none of that name is fine."""
        index = next((number for number, known in socket.if_nameindex() if known == name), None)
        if index is None:
            return
        try:
            self._link(DELLINK, 0, index, b"")
        except OSError as error:
            if error.errno != errno.ENODEV:  # the kernel was quicker
                raise

    def add_address(self, name: str, address: str, prefix: int) -> None:
        """Give a link an address."""
        self._ask(NEWADDR, CREATE | EXCL, _address(name, address, prefix))

    def remove_address(self, name: str, address: str, prefix: int) -> None:
        """Take an address from a link."""
        self._ask(DELADDR, 0, _address(name, address, prefix))

    def add_route(self, network: str, gateway: str) -> None:
        """Send what is for a network to a gateway."""
        to = ipaddress.IPv4Network(network)
        header = struct.pack("=BBBBBBBBI", socket.AF_INET, to.prefixlen, 0, 0, 254, 3, 0, 1, 0)
        body = _attribute(1, to.network_address.packed) + _attribute(5, ipaddress.IPv4Address(gateway).packed)
        self._ask(NEWROUTE, CREATE | EXCL, header + body)

    def _link(self, kind: int, flags: int, index: int, attributes: bytes, *, up: bool = False) -> None:
        self._ask(kind, flags, _link_header(index, up=up) + attributes)

    def _ask(self, kind: int, flags: int, body: bytes) -> None:
        self._number += 1
        header = struct.pack("=IHHII", 16 + len(body), kind, REQUEST | ACK | flags, self._number, 0)
        self._socket.send(header + body)
        answer = self._socket.recv(65536)
        _, answered, _, _, _ = struct.unpack_from("=IHHII", answer)
        code = struct.unpack_from("=i", answer, 16)[0] if answered == ERROR else 0
        if code:
            raise OSError(-code, f"the network refuses: {os.strerror(-code)}")


def _address(name: str, address: str, prefix: int) -> bytes:
    packed = ipaddress.IPv4Address(address).packed
    header = struct.pack("=BBBBI", socket.AF_INET, prefix, 0, 0, socket.if_nametoindex(name))
    return header + _attribute(2, packed) + _attribute(1, packed)


def _link_header(index: int, *, up: bool = False) -> bytes:
    flags = IFF_UP if up else 0
    return struct.pack("=BBHiII", socket.AF_UNSPEC, 0, 0, index, flags, flags)


def _attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + b"\0" * (-length % 4)


def _text(name: str) -> bytes:
    return name.encode() + b"\0"
