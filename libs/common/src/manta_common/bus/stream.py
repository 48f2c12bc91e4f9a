"""The streams and buckets that Manta needs: made when they are missing, changed when they differ from ours."""

import logging
from collections.abc import Mapping
from typing import Any

from manta_common.bus.channel import STATE_PREFIX
from manta_common.bus.faults import SUBJECTS_OVERLAP, TOO_FEW_SERVERS
from manta_common.bus.jetstream import Stream, call
from manta_common.bus.life import Life
from manta_common.bus.protocol import MEMBERS, SHARDS, StreamState
from manta_common.errors import Misconfigured, NotFound, Refused, Unreachable

STATE_STREAM = "MANTA_STATE"
KV_PREFIX = "$KV"
VERSION_KEY, VERSION = "manta.version", 1  # of the configuration below; an older Manta leaves a newer one alone
SECOND_NANOSECONDS = 1_000_000_000

log = logging.getLogger(__name__)

Config = Mapping[str, Any]


def wanted_streams() -> list[Config]:
    """What must be there."""
    return [
        _stream(STATE_STREAM, f"{STATE_PREFIX}.>", discard="old"),
        *(_stream(stream_of(name), f"{bucket_prefix(name)}>", discard="new") for name in (MEMBERS, SHARDS)),
    ]


def stream_of(bucket: str) -> str:
    """The stream that holds a bucket, as NATS' own key-value clients name it."""
    return f"KV_{bucket}"


def bucket_prefix(bucket: str) -> str:
    """What stands before a key of a bucket in its subject."""
    return f"{KV_PREFIX}.{bucket}."


async def ensure_streams(life: Life, *, replicas: int | None, migrate: bool) -> None:
    """Make what is missing and, if asked, change what differs; Misconfigured when that cannot be."""
    for config in wanted_streams():
        await _ensure(life, config, replicas=replicas, migrate=migrate)


async def stream_state(life: Life, name: str) -> StreamState:
    """Which stream this is and how far it has come."""
    found = await call(life, f"STREAM.INFO.{name}", None, type_=Stream)
    if found.created is None:
        raise Unreachable(f"{name} has no date of creation")
    count = found.state
    return StreamState(created_at=found.created, first=count.first_seq, last=count.last_seq, messages=count.messages)


async def _ensure(life: Life, config: Config, *, replicas: int | None, migrate: bool) -> None:
    name = config["name"]
    try:
        found = (await call(life, f"STREAM.INFO.{name}", None, type_=Stream)).config
    except NotFound:
        await _write(life, "CREATE", {**config, "num_replicas": replicas or 1})
        log.info("made a stream", extra={"stream": name})
        return
    wanted = dict(config) if replicas is None else {**config, "num_replicas": replicas}
    if migrate and not is_newer(found) and differs(found, wanted):
        await _write(life, "UPDATE", merged(found, wanted))
        log.info("changed a stream", extra={"stream": name})


def differs(found: Config, wanted: Config) -> bool:
    """Whether a stream has not all that is wanted of it; what else it has is the administrator's."""
    rest = {name: value for name, value in wanted.items() if name != "metadata"}
    return any(found.get(name) != value for name, value in rest.items()) or _version(found) != _version(wanted)


def merged(found: Config, wanted: Config) -> dict[str, Any]:
    """The stream as it is with all that is wanted of it."""
    return {**found, **wanted, "metadata": {**found.get("metadata", {}), **wanted["metadata"]}}


def is_newer(found: Config) -> bool:
    """Whether a newer Manta made this stream."""
    return _version(found) > VERSION


async def _write(life: Life, verb: str, config: Config) -> None:
    name = config["name"]
    try:
        await call(life, f"STREAM.{verb}.{name}", config, type_=Stream)
    except Refused as error:
        raise _hopeless(name, verb, error) from error


def _hopeless(name: str, verb: str, error: Refused) -> Misconfigured:
    if error.reason == str(SUBJECTS_OVERLAP):
        fix = "another stream takes these subjects; remove it or its subjects"
    elif error.reason in map(str, TOO_FEW_SERVERS):
        fix = "there are fewer NATS servers than MANTA_NATS_REPLICAS asks for; add servers, or ask for fewer"
    else:
        fix = f"give the account more room, or remove the stream with `nats stream rm {name}`: Manta fills it again"
    return Misconfigured(f"NATS does not {verb.lower()} the stream {name}: {error}; {fix}")


def _stream(name: str, subjects: str, *, discard: str) -> Config:
    return {
        "name": name,
        "subjects": [subjects],
        "retention": "limits",
        "storage": "file",
        "max_msgs_per_subject": 1,  # the last word; bursts collapse by themselves
        "discard": discard,
        "allow_direct": True,
        "allow_msg_ttl": True,  # without markers: an expired key could not be made again while its marker lives
        "duplicate_window": SECOND_NANOSECONDS,  # of no use to us: writes are guarded by sequences
        "metadata": {VERSION_KEY: str(VERSION)},
    }


def _version(config: Config) -> int:
    text = config.get("metadata", {}).get(VERSION_KEY, "")
    return int(text) if text.isdecimal() else 0
