"""Connections to dashboards in lanes: those that fail have one of their own, and cannot hold up the others."""

import asyncio

import aiohttp
import msgspec

from manta_dashboard_gateway.ray.resolver import Resolver

KEPT_SECONDS = 45.0  # longer than the longest time between two polls


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a connection may take to be made, and how much is done at once."""

    connect_seconds: float = 2.0
    at_once: int = 512
    wary_at_once: int = 128  # of those that have failed before
    threads: int = 64


class Lane:
    """Connections and turns for some of the dashboards, so that these cannot hold up the others."""

    def __init__(self, at_once: int, limits: Limits) -> None:
        self.turns = asyncio.Semaphore(at_once)
        self._resolver = Resolver(min(at_once, limits.threads))
        self._connector = aiohttp.TCPConnector(
            limit=0, ttl_dns_cache=5, resolver=self._resolver, keepalive_timeout=KEPT_SECONDS
        )
        self.session = aiohttp.ClientSession(
            connector=self._connector,
            timeout=aiohttp.ClientTimeout(total=None, connect=limits.connect_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    @property
    def connections(self) -> int:
        """How many are open; the library has no public way to tell."""
        return len(self._connector._acquired) + sum(map(len, self._connector._conns.values()))

    async def close(self) -> None:
        """Close every connection."""
        await self.session.close()
        await self._resolver.close()
