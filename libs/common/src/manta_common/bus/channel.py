"""Channels: the only makers and readers of subjects and bytes.

A state subject is `manta.v1.state.<partition>.<family>.<kind>.<namespace>.<name>`. No Kubernetes name has an
underscore, so dots are written as underscores and read back without loss; the body names the object too, and a message
whose body and subject disagree is poison.
"""

import json
import re
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

import msgspec

from manta_common.bus.packing import Poison, pack, unpack
from manta_common.bus.protocol import Message
from manta_common.keys import Key

STATE_PREFIX = "manta.v1.state"
CALL_PREFIX = "manta.v1.call"
SCHEMA = 1  # raised only when older readers would misread; they skip and count what is newer
CLUSTER_WIDE = "-"  # in place of a namespace: no namespace is called that
# Whose an object is, in a word: a RayJob's or RayCronJob's, a RayService's, one's of both, or neither's.
OF_JOBS: Final = "job"
OF_SERVE: Final = "serve"
MIXED: Final = "mixed"
PLAIN: Final = "plain"
FAMILIES: Final = (OF_JOBS, OF_SERVE, MIXED, PLAIN)

NAME = re.compile(r"[a-zA-Z0-9][-.a-zA-Z0-9]*")
# Exactly what `Channel.subject` makes: whoever reads one can write over it.
_TOKEN = "[a-zA-Z0-9][-_a-zA-Z0-9]*"
STATE_SUBJECT = re.compile(
    rf"{re.escape(STATE_PREFIX)}\.(0|[1-9][0-9]{{0,9}})\.({'|'.join(FAMILIES)})\.({_TOKEN})"
    rf"\.({_TOKEN}|{CLUSTER_WIDE})\.({_TOKEN})"
)

T = TypeVar("T")
Q = TypeVar("Q")
A = TypeVar("A")


class Spot(NamedTuple):
    """Where an object stands on the bus, by what it belongs to: the partition and the family."""

    partition: int
    family: str = PLAIN


class State(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """The last word on one object: as it was seen, or, without an object, that it is gone (a tombstone)."""

    key: Key
    uid: str
    version: str = ""  # the resourceVersion; compared only within one kind
    object: T | None = None


class _Envelope(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A state as it is written; it only grows, and every new field has a default."""

    schema: int = SCHEMA
    namespace: str = ""
    name: str
    uid: str
    version: str = ""
    gone: bool = False
    object: T | None = None


class Codec(Generic[T]):
    """Bytes of one type: JSON, compressed when it is large."""

    def __init__(self, type_: Any) -> None:
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(type_)

    def encode(self, value: T) -> bytes:
        """As bytes for the bus."""
        return pack(written(value))

    def decode(self, body: bytes) -> T:
        """Back from bytes; Poison when they are not that."""
        try:
            return self._decoder.decode(unpack(body))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Poison(f"a body that cannot be read: {error}") from error


class Channel(Generic[T]):
    """The state of one kind of objects on the bus; `word` is the kind's in the subject."""

    def __init__(self, word: str, type_: type[T]) -> None:
        self.word = _token(word)
        self._codec: Codec[_Envelope[T]] = Codec(_Envelope[type_])  # type: ignore[valid-type]
        self._place = f".{self.word}."

    def subject(self, partition: int, key: Key, family: str = PLAIN) -> str:
        """Where the last word on an object stands."""
        namespace = _token(key.namespace) if key.namespace else CLUSTER_WIDE
        return f"{STATE_PREFIX}.{partition}.{family}{self._place}{namespace}.{_token(key.name)}"

    def filter(self, partition: int | Literal["*"] = "*", family: str = "*") -> str:
        """Every object of this kind, of one partition or of all, of one family or of all."""
        return f"{STATE_PREFIX}.{partition}.{family}{self._place}>"

    def parse(self, subject: str) -> tuple[Spot, Key]:
        """The spot and the object of a subject; Poison when it is not one of this channel."""
        found = STATE_SUBJECT.fullmatch(subject)
        if found is None or found[3] != self.word:
            raise Poison(f"{subject} is not a subject of {self.word}")
        namespace = "" if found[4] == CLUSTER_WIDE else found[4].replace("_", ".")
        return Spot(int(found[1]), found[2]), Key(namespace, found[5].replace("_", "."))

    def encode(self, state: State[T]) -> bytes:
        """A state as bytes."""
        return self._codec.encode(
            _Envelope(
                namespace=state.key.namespace,
                name=state.key.name,
                uid=state.uid,
                version=state.version,
                gone=state.object is None,
                object=state.object,
            )
        )

    def decode(self, body: bytes) -> State[T]:
        """A state back from bytes; Poison when they are not one, or of a newer schema."""
        envelope = self._codec.decode(body)
        if envelope.schema > SCHEMA:
            raise Poison(f"schema {envelope.schema} of {self.word} is newer than ours, which is {SCHEMA}")
        if envelope.gone == (envelope.object is not None):
            raise Poison(f"a {self.word} that is gone and has an object, or neither")
        key = Key(envelope.namespace, envelope.name)
        return State(key=key, uid=envelope.uid, version=envelope.version, object=envelope.object)

    def read(self, message: Message) -> tuple[Spot, State[T]]:
        """The spot and the state of a message; Poison when its subject and its body name different objects."""
        spot, key = self.parse(message.subject)
        state = self.decode(message.body)
        if state.key != key:
            raise Poison(f"{message.subject} tells of {state.key}")
        return spot, state


class Call(Generic[Q, A]):
    """One verb that a service answers."""

    def __init__(self, service: str, verb: str, *, question: type[Q], answer: type[A]) -> None:
        self.service, self.verb = service, verb
        self.subject = call_subject(service, verb)
        self.question: Codec[Q] = Codec(question)
        self.answer: Codec[A] = Codec(answer)


def written(value: object) -> bytes:
    """A value as JSON; numbers of any size are a user's right, and the quick encoder knows those of 64 bits only."""
    try:
        return msgspec.json.encode(value)
    except OverflowError:
        return json.dumps(msgspec.to_builtins(value), default=msgspec.json.decode, separators=(",", ":")).encode()


def call_subject(service: str, verb: str) -> str:
    """Where a service answers a verb."""
    return f"{CALL_PREFIX}.{_token(service)}.{_token(verb)}"


def partition_filter(partition: int) -> str:
    """Every object of every kind of one partition."""
    return f"{STATE_PREFIX}.{partition}.>"


def word_of(subject: str) -> str:
    """The kind's word in a state subject, to choose the channel by; Poison when there is none."""
    parts = subject.removeprefix(f"{STATE_PREFIX}.").split(".", 3)
    if len(parts) != 4:
        raise Poison(f"{subject} is not a state subject")
    return parts[2]


def _token(name: str) -> str:
    """A name as one token of a subject. A name that no Kubernetes object can have is a mistake of ours."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot stand in a subject")
    return name.replace(".", "_")
