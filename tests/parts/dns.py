"""A name server for tests: every name under svc.cluster.local is this machine, everything else is unknown."""

import socket
import struct
import threading

HEADER = struct.Struct("!6H")
ANSWERED, UNKNOWN = 0x8580, 0x8583  # authoritative answers: no error, no such name
A_RECORD = 1


class NameServer:
    """Answers over UDP from a thread of its own, until it is stopped."""

    def __init__(self, address: str = "127.0.0.1", port: int = 53, suffix: str = "svc.cluster.local") -> None:
        self._suffix = suffix.encode()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, port))
        self._socket.settimeout(0.2)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="name-server", daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._socket.getsockname()[1]
        return port

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more."""
        self._stopping.set()
        self._thread.join(5)
        self._socket.close()

    def _serve(self) -> None:
        while not self._stopping.is_set():
            try:
                query, client = self._socket.recvfrom(4096)
            except TimeoutError:
                continue
            if len(query) > HEADER.size:
                self._socket.sendto(answer(query, self._suffix), client)


def answer(query: bytes, suffix: bytes) -> bytes:
    """The answer to one question: 127.0.0.1 for names under the suffix; an address record only."""
    labels, end = _name(query)
    (number, *_), (kind,) = HEADER.unpack_from(query), struct.unpack_from("!H", query, end)
    question = query[HEADER.size : end + 4]
    if not b".".join(labels).lower().endswith(suffix):
        return HEADER.pack(number, UNKNOWN, 1, 0, 0, 0) + question
    if kind != A_RECORD:
        return HEADER.pack(number, ANSWERED, 1, 0, 0, 0) + question
    record = b"\xc0\x0c" + struct.pack("!HHIH", A_RECORD, 1, 5, 4) + socket.inet_aton("127.0.0.1")
    return HEADER.pack(number, ANSWERED, 1, 1, 0, 0) + question + record


def _name(query: bytes) -> tuple[list[bytes], int]:
    """The labels of the question's name, and where the name ends."""
    labels, at = [], HEADER.size
    while at < len(query) and (length := query[at]):
        labels.append(query[at + 1 : at + 1 + length])
        at += 1 + length
    return labels, at + 1
