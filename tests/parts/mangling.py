"""Bytes that went wrong on their way: made of good ones, by a seed, so that each can be made again."""

import base64
import copy
import os
import random
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

USUAL = 25  # what FUZZ is in `make test`
FACTOR = max(1, int(os.environ.get("FUZZ", USUAL)) // USUAL)  # how many times as long
SEEDS = st.integers(0, 2**48)
HUGE = 10**30
DEPTH = 900  # just less than what a decoder refuses
ODD_TEXTS = (
    "",
    "\x00",
    "ä\u2028\U0001f600",
    "a" * 70_000,
    "../..",
    "a b\r\nc: d",
    "*",
    ">",
    "\u0661",
    "-1",
    "1e400",
    "nan",
)
ODD_VALUES: Sequence[Any] = (
    None,
    True,
    -1,
    0,
    HUGE,
    -HUGE,
    2**63,
    0.5,
    1e308,
    *ODD_TEXTS,
    [],
    {},
    [None],
    {"": None},
    [[]],
    {"a": {"a": {}}},
)
ODD_BODIES: Sequence[bytes] = (
    b"",
    b"\x00",
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"0",
    b"true",
    b"z",
    b"z\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b"[" * 100_000,
    b"[" * DEPTH + b"]" * DEPTH,
    b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
    b'{"a":1,"a":2}',
    b"9" * 5000,
    b"1e999",
    b"-0",
    b'"\\ud800"',
    b'"\xff"',
    b'{"\xff":1}',
    b"<html></html>",
    b"z" + zlib.compress(b"{}"),
)


def examples(number: int) -> settings:
    """So many cases, always the same, or FUZZ times as many that are new each time."""
    return settings(
        max_examples=number * FACTOR,
        derandomize=FACTOR == 1,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # a seed says all: a smaller one is no simpler case
        suppress_health_check=list(HealthCheck),
    )


def mangled(body: bytes, seed: int) -> bytes:
    """A good body that went wrong in one way or another."""
    chance = random.Random(seed)
    way: Callable[[bytes, random.Random], bytes] = chance.choice(WAYS)
    return way(body, chance)


def mangled_text(text: str, seed: int) -> str:
    """The same for a text, as of a header or of an entry's key."""
    return mangled(text.encode(), seed).decode(errors="replace")


def mangled_token(token: str, seed: int) -> bytes:
    """The same for a part of a subject: the server takes all but spaces, tabs, ends of lines, and nothing."""
    dirty = mangled(token.encode(), seed)[:200]
    return dirty.translate(None, b" \t\r\n.*>") or b"x"


def sample(type_: Any) -> Any:
    """A value of a type with every field filled in, as JSON has it."""
    return _filled(msgspec.inspect.type_info(type_), 0)


def _cut(body: bytes, chance: random.Random) -> bytes:
    return body[: chance.randrange(len(body) + 1)]


def _flipped(body: bytes, chance: random.Random) -> bytes:
    dirty = bytearray(body or b"\x00")
    for _ in range(chance.randint(1, 8)):
        dirty[chance.randrange(len(dirty))] ^= 1 << chance.randrange(8)
    return bytes(dirty)


def _stirred(body: bytes, chance: random.Random) -> bytes:
    """A piece of it left out, put in twice, or replaced by noise."""
    start, end = sorted(chance.randrange(len(body) + 1) for _ in range(2))
    middle = chance.choice([b"", body[start:end] * 2, chance.randbytes(chance.randrange(20))])
    return body[:start] + middle + body[end:]


def _recoded(body: bytes, chance: random.Random) -> bytes:
    text = body.decode(errors="replace")
    return chance.choice(
        [
            text.encode("utf-16"),
            text.encode("utf-8-sig"),
            text.encode("latin-1", errors="replace") + b"\xe4",
            base64.b64encode(body),
            zlib.compress(body),
            b"z" + zlib.compress(body),
            b"z" + zlib.compress(body)[:-3],
            body + body,
            b" " + body + b"\x00",
        ]
    )


def _other(_: bytes, chance: random.Random) -> bytes:
    return chance.choice([*ODD_BODIES, chance.randbytes(chance.randrange(200))])


def _misspelt(body: bytes, chance: random.Random) -> bytes:
    """Still JSON, but some values in it are others, or missing."""
    try:
        dirty = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return _flipped(body, chance)
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        dirty = _changed(dirty, chance)
    return encoded(dirty)


def _changed(value: Any, chance: random.Random) -> Any:
    """The value with something below it changed, or another one."""
    if chance.random() < 0.15 or not isinstance(value, dict | list) or not value:
        return copy.deepcopy(chance.choice(ODD_VALUES))
    place = chance.choice([*value] if isinstance(value, dict) else range(len(value)))
    if chance.random() < 0.1:
        del value[place]
    else:
        value[place] = _changed(value[place], chance)
    return value


WAYS = [_cut, _flipped, _stirred, _recoded, _other, _misspelt, _misspelt, _misspelt, _misspelt]


def encoded(value: Any) -> bytes:
    """As JSON, whatever size its numbers have."""
    try:
        return msgspec.json.encode(value)
    except OverflowError:
        return msgspec.json.encode(_texts(value)).replace(b'"\xc2\xa0', b"").replace(b'\xc2\xa0"', b"")


def _texts(value: Any) -> Any:
    """With huge numbers as marked texts."""
    match value:
        case dict():
            return {name: _texts(one) for name, one in value.items()}
        case list():
            return [_texts(one) for one in value]
        case int() if abs(value) >= 2**63:
            return f"\u00a0{value}\u00a0"
    return value


def _filled(info: Any, depth: int) -> Any:  # noqa: C901, PLR0911, PLR0912  a case for each kind of type
    kinds = msgspec.inspect
    match info:
        case kinds.StructType():
            return {one.encode_name: _filled(one.type, depth + 1) for one in info.fields} if depth < 14 else {}
        case kinds.UnionType():
            return _filled(next((one for one in info.types if not isinstance(one, kinds.NoneType)), None), depth)
        case kinds.DictType():
            return {_name(info.key_type): _filled(info.value_type, depth + 1)}
        case kinds.ListType() | kinds.VarTupleType() | kinds.SetType() | kinds.FrozenSetType():
            return [_filled(info.item_type, depth + 1)]
        case kinds.TupleType():
            return [_filled(one, depth + 1) for one in info.item_types]
        case kinds.LiteralType() | kinds.EnumType():
            return _first(info)
        case kinds.IntType() | kinds.FloatType():
            return 1
        case kinds.BoolType():
            return False
        case kinds.DateTimeType():
            return "2026-01-02T03:04:05Z"
        case kinds.BytesType():
            return "YWJj"
        case kinds.NoneType():
            return None
        case kinds.AnyType() | kinds.RawType():
            return {"any": [1, "x", None]}
    return "1"


def _name(key: Any) -> str:
    return "1" if isinstance(key, msgspec.inspect.IntType) else "name"


def _first(info: Any) -> Any:
    return info.values[0] if isinstance(info, msgspec.inspect.LiteralType) else next(iter(info.cls)).value
