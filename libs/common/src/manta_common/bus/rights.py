"""What NATS must let a service do: the subjects it publishes to and subscribes to, and no others."""

import msgspec

from manta_common.bus.channel import CALL_PREFIX, STATE_PREFIX
from manta_common.bus.protocol import MEMBERS, SHARDS
from manta_common.bus.settings import client_name, inbox_prefix
from manta_common.bus.stream import STATE_STREAM, bucket_prefix, stream_of
from manta_common.rights import Rights

_STREAMS = (STATE_STREAM, stream_of(MEMBERS), stream_of(SHARDS))
_STREAM_CALLS = ("STREAM.INFO.{}", "STREAM.CREATE.{}", "STREAM.UPDATE.{}", "STREAM.MSG.GET.{}")
_READER_CALLS = ("CONSUMER.CREATE.{}", "CONSUMER.DELETE.{}.*", "CONSUMER.MSG.NEXT.{}.*")


class Subjects(msgspec.Struct, frozen=True):
    """What a user of NATS may do."""

    publish: list[str]
    subscribe: list[str]
    answers: bool  # also to whom it was asked by


def looker(name: str) -> Subjects:
    """The subjects of somebody who only looks whether all is there."""
    return Subjects(
        publish=[f"$JS.API.STREAM.INFO.{stream}" for stream in _STREAMS],
        subscribe=[f"{inbox_prefix(name)}.>"],
        answers=False,
    )


def subjects(rights: Rights) -> Subjects:
    """The subjects of a service."""
    api = [f"$JS.API.{path.format(stream)}" for path in (*_STREAM_CALLS, *_READER_CALLS) for stream in _STREAMS]
    shared = [f"{bucket_prefix(bucket)}{plane}.>" for bucket in (MEMBERS, SHARDS) for plane in rights.planes]
    state = [f"{STATE_PREFIX}.*.*.{word}.>" for word in rights.bus.publishes]
    calls = [f"{CALL_PREFIX}.{name}.*" for name in rights.bus.calls]
    asked = [f"{CALL_PREFIX}.{name}.*" for name in rights.bus.answers]
    return Subjects(
        publish=[*state, *calls, *shared, *api],
        subscribe=[f"{inbox_prefix(client_name(rights.service))}.>", *asked, *(["$SRV.>"] if asked else [])],
        answers=bool(asked),
    )
