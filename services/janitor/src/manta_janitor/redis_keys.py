"""Removes a cluster's keys from Redis, as Ray's own clean-up does; the only part that talks to Redis."""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import msgspec

from manta_common.api import env
from manta_common.api.raycluster import RayCluster
from manta_common.errors import NotFound, Refused, Unreachable
from manta_common.keys import Key
from manta_common.kinds import SECRET
from manta_common.kube.protocol import Kube
from manta_common.ray.cluster import Unbuildable
from manta_common.ray.pods import unmarked_head_pod
from manta_common.ray.settings import RaySettings

if TYPE_CHECKING:
    from redis.asyncio import Redis

DEFAULT_PORT: Final = 6379
LIMIT_SECONDS: Final = 10.0
BATCH: Final = 500
_GLOB: Final = re.compile(r"([\\*?\[\]])")


class RedisPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a cluster's keys are, and who may remove them."""

    host: str
    port: int = DEFAULT_PORT
    username: str | None = None
    password: str | None = None
    tls: bool = False
    ca_file: str = ""


class SecretData(msgspec.Struct, frozen=True):
    """The values of a Secret, in base64."""

    data: dict[str, str] = msgspec.field(default_factory=dict)


class RedisCleaner:
    """Cleans up with what the cluster's head was given: its address, its storage namespace, its credentials."""

    def __init__(self, kube: Kube, settings: RaySettings, ca_file: str = "") -> None:
        self._kube, self._settings, self._ca_file = kube, settings, ca_file

    async def clean(self, cluster: RayCluster) -> int:
        """Remove a cluster's keys and return how many there were; a MantaError says why that is not possible now."""
        found = _variables(cluster, self._settings)
        namespace = await self._value(cluster, found, env.EXTERNAL_STORAGE_NAMESPACE)
        if not namespace:
            raise Refused(422, "NoStorageNamespace", f"the head's variable {env.EXTERNAL_STORAGE_NAMESPACE} is empty")
        return await remove_keys(await self._place(cluster, found), key_prefix(namespace))

    async def _place(self, cluster: RayCluster, found: Mapping[str, Mapping[str, Any]]) -> RedisPlace:
        place = parse_address(await self._value(cluster, found, env.RAY_REDIS_ADDRESS) or "")
        username = await self._value(cluster, found, env.REDIS_USERNAME)
        password = await self._value(cluster, found, env.REDIS_PASSWORD)
        return msgspec.structs.replace(
            place,
            username=place.username if username is None else username,
            password=place.password if password is None else password,
            ca_file=self._ca_file,
        )

    async def _value(self, cluster: RayCluster, found: Mapping[str, Mapping[str, Any]], name: str) -> str | None:
        """The value of a variable of the head, also from a Secret; None when the head has no such variable."""
        variable = found.get(name)
        if variable is None:
            return None
        source = variable.get("valueFrom")
        if not source:
            return str(variable.get("value", ""))
        reference = source.get("secretKeyRef")
        if reference is None:
            raise Refused(
                422, "NotASecret", f"the janitor reads {name} from a text or a Secret; set redisCleanupBy to job"
            )
        return await self._secret(Key(cluster.metadata.namespace, reference["name"]), reference)

    async def _secret(self, place: Key, reference: Mapping[str, Any]) -> str | None:
        key = reference["key"]
        try:
            values = (await self._kube.get(SECRET, place, SecretData)).data
            return base64.b64decode(values[key], validate=True).decode()
        except (NotFound, KeyError):
            if reference.get("optional"):
                return None
            raise Refused(404, "NoSuchSecret", f"Secret {place} has no key {key}: create it") from None
        except (binascii.Error, UnicodeDecodeError):
            raise Refused(422, "UnreadableSecret", f"key {key} of Secret {place} is not text") from None


def parse_address(given: str) -> RedisPlace:
    """Where the first of the addresses is that the head was given."""
    first = given.split(",", maxsplit=1)[0].strip()
    try:
        parts = urlsplit(first if "://" in first else f"redis://{first}")
        port = parts.port or DEFAULT_PORT
    except ValueError:
        parts, port = urlsplit(""), 0
    if not parts.hostname:
        raise Refused(422, "NoRedisAddress", f"the head's variable {env.RAY_REDIS_ADDRESS} names no host")
    username, password = (unquote(text) if text else None for text in (parts.username, parts.password))
    return RedisPlace(
        host=parts.hostname, port=port, username=username, password=password, tls=parts.scheme == "rediss"
    )


def key_prefix(namespace: str) -> str:
    """What the keys of a storage namespace begin with."""
    return f"RAY{namespace}@"


async def remove_keys(place: RedisPlace, prefix: str) -> int:
    """Remove all keys with a prefix and return how many there were; what another removes meanwhile is no error."""
    from redis.asyncio import Redis  # noqa: PLC0415  7 MiB that a janitor need not take while nobody asks for it
    from redis.asyncio.retry import Retry  # noqa: PLC0415
    from redis.backoff import NoBackoff  # noqa: PLC0415
    from redis.exceptions import RedisError  # noqa: PLC0415

    client = Redis(
        host=place.host,
        port=place.port,
        username=place.username or None,
        password=place.password or None,
        ssl=place.tls,
        ssl_ca_certs=place.ca_file or None,
        socket_timeout=LIMIT_SECONDS,
        socket_connect_timeout=LIMIT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        async with client:
            return await _remove(client, _GLOB.sub(r"\\\1", prefix) + "*")
    except (RedisError, OSError) as error:
        checked = f" with the CA file {place.ca_file}" if place.tls and place.ca_file else ""
        raise Unreachable(f"Redis at {place.host}:{place.port}{checked}: {_safe(error, place)}") from error


async def _remove(client: "Redis", pattern: str) -> int:
    removed, batch = 0, list[bytes]()
    async for key in client.scan_iter(match=pattern, count=BATCH):
        batch.append(key)
        if len(batch) >= BATCH:
            removed += await client.delete(*batch)
            batch.clear()
    return removed + (await client.delete(*batch) if batch else 0)


def _safe(error: Exception, place: RedisPlace) -> str:
    """The error's text without the password."""
    text = str(error) or type(error).__name__
    return text.replace(place.password, "***") if place.password else text


def _variables(cluster: RayCluster, settings: RaySettings) -> dict[str, Mapping[str, Any]]:
    """The variables of the head by name; of two with one name the last counts."""
    try:
        pod = unmarked_head_pod(cluster, 0, settings)
    except Unbuildable as error:
        raise Refused(422, "Unbuildable", str(error)) from error
    return {one["name"]: one for one in pod["spec"]["containers"][0].get("env", ())}
