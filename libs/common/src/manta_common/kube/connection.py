"""One way to an API server that stays open: credentials are read again when they run out or are refused."""

import asyncio
import logging
import pathlib
import ssl
import time
from collections.abc import Callable

import msgspec

from manta_common.errors import Misconfigured
from manta_common.kube.access import Access, Source

AGAIN_SECONDS = 10.0  # how soon credentials that could not be read are tried again
log = logging.getLogger(__name__)


class Reach(msgspec.Struct, frozen=True):
    """The access of this moment with its TLS context."""

    access: Access
    tls: ssl.SSLContext


class Connection:
    """Hands out the current access; however many callers ask, it is read once."""

    def __init__(self, source: Source, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._source, self._monotonic = source, monotonic
        self._lock = asyncio.Lock()
        self._reach: Reach | None = None
        self._material: tuple[object, ...] = ()
        self._due_at = 0.0

    async def current(self) -> Reach:
        """The access as it should be used now; Misconfigured when there never was one."""
        if self._reach is None or self._monotonic() >= self._due_at:
            return await self._read(self._reach)
        return self._reach

    async def refused(self, reach: Reach) -> Reach:
        """The server refused this access: read it again, unless that has been done since; what is to be tried next."""
        return await self._read(reach)

    async def _read(self, known: Reach | None) -> Reach:
        async with self._lock:
            if self._reach is not None and self._reach is not known:
                return self._reach
            try:
                access = await self._source()
                tls = await asyncio.to_thread(self._tls, access)
            except Misconfigured as error:
                if self._reach is None:
                    raise
                log.warning("credentials cannot be read again, the old ones are kept", extra={"error": str(error)})
                access, tls = msgspec.structs.replace(self._reach.access, lasts_seconds=AGAIN_SECONDS), self._reach.tls
            self._due_at = self._monotonic() + access.lasts_seconds
            self._reach = Reach(access, tls)
            return self._reach

    def _tls(self, access: Access) -> ssl.SSLContext:
        """The TLS context; the same one as before, and with it the open connections, while the files say the same."""
        try:
            files = (access.ca_file, access.certificate_file, access.key_file)
            material = (*(_content(file) for file in files), access.verify, access.server_name)
            if self._reach is None or material != self._material:
                self._material, context = material, tls_context(access)
                return context
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            raise Misconfigured(f"the certificates for {access.server} cannot be used: {error}") from error
        return self._reach.tls


def tls_context(access: Access) -> ssl.SSLContext:
    """Checks the server by the cluster's CA, or the system's without one, and shows our certificate if we have one."""
    context = ssl.create_default_context(cafile=access.ca_file or None)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # CAs of clusters lack extensions that Go does not ask for
    context.set_alpn_protocols(["http/1.1"])
    if access.certificate_file:
        context.load_cert_chain(access.certificate_file, access.key_file or None)
    if not access.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _content(file: str) -> bytes:
    return pathlib.Path(file).read_bytes() if file else b""
