"""How many NATS servers keep the streams is what the setting says, and a wish that cannot be met is told."""

import nats
import pytest
from msgspec.structs import replace as changed

from manta_common.bus.nats_bus import open_bus
from manta_common.config import Config
from manta_common.errors import Misconfigured
from manta_common.wiring import bus_settings
from tests.parts.nats import Nats
from tests.parts.nats_cluster import NatsCluster

STREAMS = ("MANTA_STATE", "KV_manta_members", "KV_manta_shards")


async def test_streams_are_kept_by_as_many_servers_as_the_setting_says(nats_cluster: NatsCluster) -> None:
    urls = tuple(nats_cluster.urls)
    async with open_bus(bus_settings(Config(nats_urls=urls, nats_replicas=3), "toy")):
        assert await _replicas(urls) == [3, 3, 3]
    async with open_bus(bus_settings(Config(nats_urls=urls), "toy")):
        assert await _replicas(urls) == [3, 3, 3], "by default they stay as they are"


async def test_more_replicas_than_servers_are_refused_in_a_sentence(own_nats: Nats, nats_cluster: NatsCluster) -> None:
    alone, three = Config(nats_urls=(own_nats.url,)), Config(nats_urls=tuple(nats_cluster.urls))
    for config in (
        changed(alone, nats_replicas=3),  # for a stream that is to be made
        changed(three, nats_replicas=5),  # for one that is there
    ):
        with pytest.raises(Misconfigured, match="fewer NATS servers than MANTA_NATS_REPLICAS asks for"):
            async with open_bus(bus_settings(config, "toy")):
                pass


async def _replicas(urls: tuple[str, ...]) -> list[int | None]:
    client = await nats.connect(list(urls))
    try:
        found = [await client.jetstream().stream_info(stream) for stream in STREAMS]
        return [one.config.num_replicas for one in found]
    finally:
        await client.close()
