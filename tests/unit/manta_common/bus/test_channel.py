"""Subjects and bytes of channels: there and back, and never one object for another."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manta_common.bus.channel import (
    FAMILIES,
    OF_JOBS,
    SCHEMA,
    Call,
    Channel,
    Spot,
    State,
    call_subject,
    partition_filter,
    word_of,
)
from manta_common.bus.packing import COMPRESS_ABOVE, UNPACKED_LIMIT, Poison, pack, unpack
from manta_common.bus.protocol import Message
from manta_common.keys import Key


class Toy(msgspec.Struct, frozen=True, kw_only=True):
    """An object of a kind of our own."""

    name: str = ""
    template: msgspec.Raw = msgspec.Raw(b"{}")


class NewerToy(Toy, frozen=True, kw_only=True):
    """The same, as a later version knows it."""

    colour: str = "red"


TOYS, NEWER_TOYS = Channel("toy", Toy), Channel("toy", NewerToy)
KEY = Key("default", "teddy")
LABEL = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
NAME = st.lists(LABEL, min_size=1, max_size=4).map(".".join)


@pytest.mark.parametrize(
    ("key", "subject"),
    [
        pytest.param(Key("default", "teddy"), "manta.v1.state.7.plain.toy.default.teddy", id="plain"),
        pytest.param(Key("default", "teddy.v2.x"), "manta.v1.state.7.plain.toy.default.teddy_v2_x", id="dots"),
        pytest.param(Key("", "node-1"), "manta.v1.state.7.plain.toy.-.node-1", id="cluster-wide"),
    ],
)
def test_a_subject_there_and_back(key: Key, subject: str) -> None:
    assert TOYS.subject(7, key) == subject
    assert TOYS.parse(subject) == (Spot(7), key)


@given(partition=st.integers(0, 10**9), family=st.sampled_from(FAMILIES), namespace=LABEL | st.just(""), name=NAME)
def test_every_name_comes_back_from_its_subject(partition: int, family: str, namespace: str, name: str) -> None:
    key = Key(namespace, name)
    assert TOYS.parse(TOYS.subject(partition, key, family)) == (Spot(partition, family), key)


@given(one=NAME, other=NAME)
def test_different_names_have_different_subjects(one: str, other: str) -> None:
    same = TOYS.subject(0, Key("default", one)) == TOYS.subject(0, Key("default", other))
    assert same == (one == other)


@pytest.mark.parametrize("name", ["", "a_b", "a b", "*", ">", "a.>", "a\r\nPUB x", "ä", "."], ids=repr)
def test_a_name_that_no_object_can_have_is_a_mistake(name: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in a subject"):
        TOYS.subject(0, Key("default", name))


@pytest.mark.parametrize(
    "subject",
    [
        "manta.v1.state.7.plain.pod.default.teddy",
        "manta.v1.state.seven.plain.toy.default.teddy",
        "manta.v1.state.7.plain.toy.default",
        "manta.v1.state.7.plain.toy.default.teddy.more",
        "manta.v1.state.7.other.toy.default.teddy",
        "manta.v1.state.7.toy.default.teddy",
        "manta.v2.state.7.plain.toy.default.teddy",
        "other",
    ],
)
def test_a_subject_of_something_else_is_poison(subject: str) -> None:
    with pytest.raises(Poison):
        TOYS.parse(subject)


def test_filters() -> None:
    assert TOYS.filter(3) == "manta.v1.state.3.*.toy.>"
    assert TOYS.filter(3, OF_JOBS) == "manta.v1.state.3.job.toy.>"
    assert TOYS.filter() == "manta.v1.state.*.*.toy.>"
    assert partition_filter(3) == "manta.v1.state.3.>"


def test_the_word_of_a_subject_chooses_the_channel() -> None:
    assert word_of(TOYS.subject(7, KEY)) == "toy"
    with pytest.raises(Poison):
        word_of("manta.v1.state.7")


def test_a_state_there_and_back() -> None:
    state = State(key=KEY, uid="u-1", version="42", object=Toy(name="teddy", template=msgspec.Raw(b'{"any": [1]}')))
    assert TOYS.decode(TOYS.encode(state)) == state


def test_a_tombstone_there_and_back() -> None:
    gone: State[Toy] = State(key=KEY, uid="u-1", version="43")
    assert TOYS.decode(TOYS.encode(gone)) == gone


def test_what_is_written_is_json_that_a_person_can_read() -> None:
    written = msgspec.json.decode(TOYS.encode(State(key=KEY, uid="u-1", version="42", object=Toy(name="teddy"))))
    assert written == {
        "schema": 1,
        "namespace": "default",
        "name": "teddy",
        "uid": "u-1",
        "version": "42",
        "gone": False,
        "object": {"name": "teddy", "template": {}},
    }


def test_an_older_reader_ignores_what_it_does_not_know() -> None:
    body = NEWER_TOYS.encode(State(key=KEY, uid="u", object=NewerToy(name="teddy", colour="blue")))
    assert TOYS.decode(body).object == Toy(name="teddy")


def test_a_newer_reader_takes_defaults_for_what_is_missing() -> None:
    body = TOYS.encode(State(key=KEY, uid="u", object=Toy(name="teddy")))
    assert NEWER_TOYS.decode(body).object == NewerToy(name="teddy")


def envelope(**fields: object) -> bytes:
    """A written state with some fields changed."""
    whole = {"schema": SCHEMA, "namespace": "default", "name": "teddy", "uid": "u", "object": {"name": "t"}}
    return msgspec.json.encode(whole | fields)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"not json", id="no JSON"),
        pytest.param(b'{"schema": 1', id="cut off"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"z" + b"\x00" * 10, id="damaged compression"),
        pytest.param(pack(bytes(COMPRESS_ABOVE + 1))[:-4], id="compression cut off"),
        pytest.param(b"[" * 100_000, id="nested without end"),
        pytest.param(envelope(schema=SCHEMA + 1), id="a newer schema"),
        pytest.param(envelope(object={"name": 7}), id="another type"),
        pytest.param(envelope(gone=True), id="gone, with an object"),
        pytest.param(envelope(object=None), id="neither gone nor there"),
    ],
)
def test_poison_is_one_error(body: bytes) -> None:
    with pytest.raises(Poison):
        TOYS.decode(body)


@given(body=st.binary(max_size=200))
def test_no_bytes_raise_anything_else(body: bytes) -> None:
    with contextlib.suppress(Poison):
        TOYS.decode(body)


def test_a_message_is_read_with_its_partition() -> None:
    state = State(key=KEY, uid="u", object=Toy(name="teddy"))
    message = Message(subject=TOYS.subject(5, KEY), body=TOYS.encode(state), sequence=1)
    assert TOYS.read(message) == (Spot(5), state)


def test_a_message_whose_body_tells_of_another_object_is_poison() -> None:
    body = TOYS.encode(State(key=Key("default", "other"), uid="u", object=Toy()))
    with pytest.raises(Poison, match="default/other"):
        TOYS.read(Message(subject=TOYS.subject(5, KEY), body=body, sequence=1))


def test_a_large_body_is_compressed_and_a_small_one_is_not() -> None:
    small, large = bytes(COMPRESS_ABOVE), bytes(COMPRESS_ABOVE + 1)
    assert pack(small) == small
    assert len(pack(large)) < 1000
    assert unpack(pack(large)) == large


@given(body=st.binary(max_size=300).map(lambda piece: b"{" + piece * 400))
def test_packing_there_and_back(body: bytes) -> None:
    assert unpack(pack(body)) == body


def test_a_body_that_unpacks_to_too_much_is_poison() -> None:
    with pytest.raises(Poison, match="too large"):
        unpack(pack(bytes(UNPACKED_LIMIT + 1)))


def test_a_call_has_a_subject_and_two_types() -> None:
    call = Call("dashboard", "submit", question=Toy, answer=int)
    assert call.subject == call_subject("dashboard", "submit") == "manta.v1.call.dashboard.submit"
    assert call.question.decode(call.question.encode(Toy(name="a"))) == Toy(name="a")
    assert call.answer.decode(call.answer.encode(7)) == 7
    with pytest.raises(Poison):
        call.answer.decode(b'"seven"')
