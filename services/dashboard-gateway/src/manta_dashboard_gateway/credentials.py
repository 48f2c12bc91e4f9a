"""The Secrets that lead into dashboards: read by name when they are needed, kept in memory, never shown."""

import asyncio
import pathlib
import ssl
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

import manta_common.api.core
from manta_common.config import Secret
from manta_common.dashboard.calls import UNAUTHORISED
from manta_common.errors import NotFound, Refused
from manta_common.keys import Key
from manta_common.kinds import SECRET, Kind
from manta_dashboard_gateway.cache import Cache, SingleFlight
from manta_dashboard_gateway.places import Target

TOKEN_KEY, CA_KEY, CERTIFICATE_KEY, PRIVATE_KEY = "auth_token", "ca.crt", "tls.crt", "tls.key"

T = TypeVar("T")


class Unauthorised(Refused):
    """A dashboard that does not let us in."""

    def __init__(self, message: str) -> None:
        super().__init__(401, UNAUTHORISED, message)


class Reader(Protocol):
    """What is asked of Kubernetes here."""

    async def get(self, kind: Kind, key: Key, into: type[T]) -> T:
        """One object."""


class Credential(msgspec.Struct, frozen=True):
    """What lets us into one dashboard; `versions` are those of the Secrets it was read from."""

    versions: tuple[str, ...] = ()
    token: Secret = Secret()
    tls: ssl.SSLContext | None = None


NOTHING = Credential()


class Credentials:
    """The credential of each dashboard that wants one."""

    def __init__(self, kube: Reader, monotonic: Callable[[], float]) -> None:
        self._kube = kube
        self._known: Cache[tuple[str, str, str], Credential] = Cache(monotonic)
        self._flight = SingleFlight()

    async def of(self, target: Target) -> Credential:
        """What lets us in; Unauthorised when there is nothing that would."""
        if target.shut:
            raise Unauthorised(target.shut)
        if not target.token_secret and not target.tls_secret:
            return NOTHING
        known = self._known.find(_place(target))
        return known[0] if known else await self._flight.run(_place(target), lambda: self._read(target))

    async def renewed(self, target: Target, refused: Credential) -> Credential | None:
        """What to try after a refusal: the Secrets read again, or None when they are what they were."""
        if not refused.versions:
            return None
        known = self._known.find(_place(target))
        if known and known[0].versions != refused.versions:
            return known[0]
        found = await self._flight.run(_place(target), lambda: self._read(target))
        return None if found.versions == refused.versions else found

    async def _read(self, target: Target) -> Credential:
        versions, token, tls = list[str](), Secret(), None
        if target.token_secret:
            secret = await self._secret(Key(target.cluster.namespace, target.token_secret), TOKEN_KEY)
            token = Secret(secret.data[TOKEN_KEY].decode(errors="replace").strip())
            versions.append(secret.metadata.resource_version)
        if target.tls_secret:
            place = Key(target.cluster.namespace, target.tls_secret)
            secret = await self._secret(place, CA_KEY, CERTIFICATE_KEY, PRIVATE_KEY)
            tls = await asyncio.to_thread(_context, place, secret.data)
            versions.append(secret.metadata.resource_version)
        found = Credential(tuple(versions), token, tls)
        self._known.put(_place(target), found)
        return found

    async def _secret(self, place: Key, *wanted: str) -> manta_common.api.core.Secret:
        try:
            secret = await self._kube.get(SECRET, place, manta_common.api.core.Secret)
        except NotFound as error:
            raise Unauthorised(f"there is no Secret {place}, which should let us in") from error
        missing = [key for key in wanted if not secret.data.get(key)]
        if missing:
            raise Unauthorised(f"the Secret {place} has no {' and no '.join(missing)}")
        return secret


def _place(target: Target) -> tuple[str, str, str]:
    return (target.uid, target.token_secret, target.tls_secret)


def _context(place: Key, data: Mapping[str, Any]) -> ssl.SSLContext:
    """Trusts the cluster's CA and no other, and shows the certificate that it signed for us."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_verify_locations(cadata=data[CA_KEY].decode())
        with tempfile.TemporaryDirectory(prefix="manta-tls-") as folder:  # the library takes files only
            certificate, key = pathlib.Path(folder, CERTIFICATE_KEY), pathlib.Path(folder, PRIVATE_KEY)
            certificate.write_bytes(data[CERTIFICATE_KEY])
            key.write_bytes(data[PRIVATE_KEY])
            context.load_cert_chain(certificate, key)
    except (ssl.SSLError, ValueError) as error:
        raise Unauthorised(f"the certificates in the Secret {place} cannot be used: {error}") from error
    return context
