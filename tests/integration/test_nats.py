"""The real NATS of the tests: what it acknowledged survives the death of a server, but not a wipe."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence

import nats as client
import nats.errors
import nats.js.errors
import pytest
from nats.js import JetStreamContext
from nats.js.api import StreamConfig

from tests.parts.eventually import eventually
from tests.parts.nats import Nats, has_jetstream
from tests.parts.nats_cluster import NatsCluster
from tests.parts.patience import patient

MEBIBYTE = 1024 * 1024
LIMIT_SECONDS = 30
MESSAGES = 60


async def test_messages_are_published_and_consumed(nats: Nats) -> None:
    async with _stream([nats.url]) as (jetstream, name):
        assert (await jetstream.publish(f"{name}.a", b"one")).seq == 1
        subscription = await jetstream.pull_subscribe(f"{name}.*", "reader")
        [message] = await subscription.fetch(1, timeout=patient(5))
        await message.ack()
        assert (message.subject, message.data) == (f"{name}.a", b"one")


async def test_a_message_may_have_eight_megabytes(nats: Nats) -> None:
    async with _stream([nats.url]) as (jetstream, name):
        await jetstream.publish(f"{name}.a", bytes(7 * MEBIBYTE))
        assert len((await jetstream.get_last_msg(name, f"{name}.a")).data or b"") == 7 * MEBIBYTE


async def test_messages_survive_a_kill(own_nats: Nats) -> None:
    url = own_nats.url
    async with _connected([url]) as jetstream:
        await jetstream.add_stream(StreamConfig("kept", subjects=["kept.*"]))
        await jetstream.publish("kept.a", b"before")
    own_nats.kill()
    assert not has_jetstream(own_nats.address)
    own_nats.restart()
    assert own_nats.url == url
    async with _connected([url]) as jetstream:
        assert (await jetstream.get_last_msg("kept", "kept.a")).data == b"before"


async def test_a_wiped_nats_has_no_streams(own_nats: Nats) -> None:
    async with _connected([own_nats.url]) as jetstream:
        await jetstream.add_stream(StreamConfig("lost", subjects=["lost.*"]))
    own_nats.wipe()
    async with _connected([own_nats.url]) as jetstream:
        with pytest.raises(nats.js.errors.NotFoundError):
            await jetstream.stream_info("lost")


async def test_a_stream_of_three_replicas_loses_nothing_when_a_server_is_killed(nats_cluster: NatsCluster) -> None:
    async with _stream(nats_cluster.urls, replicas=3) as (jetstream, name):
        acknowledged = [await _published(jetstream, f"{name}.{number}") for number in range(MESSAGES // 3)]
        leader = await _leader(jetstream, name)
        nats_cluster.kill(leader)
        acknowledged += [await _published(jetstream, f"{name}.{number}") for number in range(MESSAGES // 3, MESSAGES)]
        nats_cluster.restart(leader)
        kept = {subject: await _read(jetstream, name, subject) for subject in acknowledged}
    assert kept == {f"{name}.{number}": f"{name}.{number}".encode() for number in range(MESSAGES)}


@contextlib.asynccontextmanager
async def _stream(urls: Sequence[str], replicas: int = 1) -> AsyncIterator[tuple[JetStreamContext, str]]:
    """A stream with a name of its own, for the server may be anybody's."""
    name = f"test-{secrets.token_hex(4)}"
    async with _connected(urls) as jetstream:
        await jetstream.add_stream(StreamConfig(name, subjects=[f"{name}.*"], num_replicas=replicas))
        yield jetstream, name
        await jetstream.delete_stream(name)


@contextlib.asynccontextmanager
async def _connected(urls: Sequence[str]) -> AsyncIterator[JetStreamContext]:
    connection = await client.connect(list(urls), error_cb=_quiet, reconnect_time_wait=0.1, max_reconnect_attempts=-1)
    try:
        yield connection.jetstream(timeout=patient(5))
    finally:
        await connection.close()


async def _published(jetstream: JetStreamContext, subject: str) -> str:
    """Publish until it is acknowledged: while the stream has no leader, nothing is."""

    async def publish() -> str | None:
        with contextlib.suppress(nats.errors.Error):
            await jetstream.publish(subject, subject.encode(), timeout=1)
            return subject
        return None

    return await eventually(f"{subject} is acknowledged", publish, limit_seconds=LIMIT_SECONDS)


async def _leader(jetstream: JetStreamContext, name: str) -> int:
    """The number of the server that leads the stream, once one does."""

    async def leader() -> str | None:
        with contextlib.suppress(nats.errors.Error):
            cluster = (await jetstream.stream_info(name)).cluster
            return cluster.leader if cluster else None
        return None

    found = await eventually(f"{name} has a leader", leader, limit_seconds=LIMIT_SECONDS)
    return int(found.removeprefix("manta-"))


async def _read(jetstream: JetStreamContext, name: str, subject: str) -> bytes | None:
    """The last word on a subject, once the stream answers: while it has no leader, it does not."""

    async def read() -> bytes | None:
        with contextlib.suppress(nats.errors.Error):
            return (await jetstream.get_last_msg(name, subject)).data
        return None

    return await eventually(f"{subject} can be read", read, limit_seconds=LIMIT_SECONDS)


async def _quiet(error: Exception) -> None:
    """The library would print every lost connection."""
