"""Objects in Kubernetes' protobuf form, which Go clients send for built-in kinds; answers to them are JSON.

The fields of the messages are in the file beside this one, made by `make crds-kubernetes` from Kubernetes' sources.
"""

import base64
import functools
import re
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from manta_common.kinds import Kind
from manta_embedded.store import errors

FILE = "protobuf.json"
MAGIC = b"k8s\x00"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
TYPE_META = {1: "apiVersion", 2: "kind"}
TEXTS = ("io.k8s.apimachinery.pkg.api.resource.Quantity",)
TIMES = {f"{META}Time": "seconds", f"{META}MicroTime": "microseconds"}
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
FIELDS = f"{META}FieldsV1"
RAW = "io.k8s.apimachinery.pkg.runtime.RawExtension"
SPECIAL = frozenset((*TEXTS, *TIMES, FIELDS, RAW, INT_OR_STRING))
PACKAGES = "core batch rbac networking events coordination discovery scheduling authentication authorization policy"
ROOTS = (
    "core.v1 Pod Service ConfigMap Secret ServiceAccount Namespace Node Event PersistentVolumeClaim ResourceQuota",
    "core.v1 Binding",
    "batch.v1 Job",
    "rbac.v1 Role RoleBinding ClusterRole ClusterRoleBinding",
    "networking.v1 Ingress NetworkPolicy",
    "events.v1 Event",
    "coordination.v1 Lease",
    "discovery.v1 EndpointSlice",
    "scheduling.v1 PriorityClass",
    "policy.v1 Eviction",
    "authentication.v1 TokenRequest TokenReview SelfSubjectReview",
    "authorization.v1 SubjectAccessReview SelfSubjectAccessReview LocalSubjectAccessReview SelfSubjectRulesReview",
)
FIELD = re.compile(r"^\s*(?:(optional|repeated) (\S+)|map<string, (\S+)>) (\w+) = (\d+);", re.MULTILINE)
STRUCT = re.compile(r"^type (\w+) struct \{(.*?)^\}", re.MULTILINE | re.DOTALL)
TAG = re.compile(r'^\s*(?:\w+ +)?(\S+)\s+`json:"([^"]*)" protobuf:"\w+,(\d+)', re.MULTILINE)
MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)


class Field(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One field of a message; one without a name is a part of the message itself."""

    name: str
    type: str
    many: str = ""
    omitted: bool = False  # when it is empty, as Go writes JSON


Messages = Mapping[str, Mapping[int, Field]]


def decoded(raw: bytes, kind: Kind) -> dict[str, Any]:
    """The object that a body holds; 400 when it is no such message, 415 for kinds that have none."""
    if not raw.startswith(MAGIC):
        raise errors.bad_request(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    try:
        envelope = dict(_wire(raw[len(MAGIC) :]))
        meta = {TYPE_META[number]: text.decode() for number, text in _wire(envelope.get(1, b""))}
        group, _, version = meta.get("apiVersion", kind.api_version).rpartition("/")
        name = f"io.k8s.api.{group.split('.')[0] or 'core'}.{version}.{meta.get('kind', kind.kind)}"
        if meta.get("kind") == "DeleteOptions":
            name = f"{META}DeleteOptions"
        if name not in _messages():
            raise errors.StatusError(415, "UnsupportedMediaType", f"{kind.kind} is not taken as protobuf: send JSON")
        found: dict[str, Any] = _message(envelope.get(2, b""), name)
    except (IndexError, struct.error, UnicodeDecodeError, ValueError) as error:
        raise errors.bad_request(f"the body is no protobuf message of {kind.kind}: {error}") from error
    return {**meta, **found}


def _message(raw: bytes, name: str) -> Any:
    if name in SPECIAL:
        return _special(raw, name)
    fields = _messages()[name]
    found: dict[str, Any] = {}
    for number, value in _wire(raw):
        field = fields.get(number)
        if field is not None:
            _put(found, field, value)
    return found.get("items", []) if name.endswith(".ExtraValue") else found  # a list that has a name of its own


def _put(found: dict[str, Any], field: Field, value: Any) -> None:
    if field.many == "map":
        key, item = _entry(value, field.type)
        found.setdefault(field.name, {})[key] = item
    elif field.many == "list":
        found.setdefault(field.name, []).append(_value(value, field.type))
    elif not field.name:
        found.update(_value(value, field.type))
    else:
        plain = _value(value, field.type)
        # Go's encoder writes every field that is no pointer, also those that JSON leaves out when they are empty.
        if plain or not (field.omitted or plain is None):
            found[field.name] = plain


def _value(value: Any, kind: str) -> Any:
    match kind:
        case "string":
            return value.decode()
        case "bool":
            return bool(value)
        case "bytes":
            return base64.b64encode(value).decode()
        case "int32" | "int64":
            return value - (1 << 64) if value >> 63 else value
        case "double":
            return struct.unpack("<d", value)[0]
    return _message(value, kind)


def _entry(raw: bytes, kind: str) -> tuple[str, Any]:
    parts = dict(_wire(raw))
    empty: Any = b"" if kind in ("string", "bytes") or kind.startswith("io.k8s") else 0
    return parts.get(1, b"").decode(), _value(parts.get(2, empty), kind)


def _special(raw: bytes, name: str) -> Any:
    parts = dict(_wire(raw))
    if name in TEXTS:
        return parts.get(1, b"").decode() or "0"
    if name in (FIELDS, RAW):
        return msgspec.json.decode(parts.get(1, b"{}") or b"{}")
    if name == INT_OR_STRING:
        return parts.get(3, b"").decode() if parts.get(1, 0) else _value(parts.get(2, 0), "int32")
    if not parts:
        return None
    moment = datetime.fromtimestamp(_value(parts.get(1, 0), "int64"), UTC).replace(microsecond=parts.get(2, 0) // 1000)
    return moment.isoformat(timespec=TIMES[name]).replace("+00:00", "Z")


def _wire(raw: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        match tag & 7:
            case 0:
                value, at = _varint(raw, at)
                yield tag >> 3, value
            case 1:
                yield tag >> 3, raw[at : at + 8]
                at += 8
            case 2:
                length, at = _varint(raw, at)
                if at + length > len(raw):
                    raise ValueError("it ends too early")
                yield tag >> 3, raw[at : at + length]
                at += length
            case 5:
                yield tag >> 3, raw[at : at + 4]
                at += 4
            case other:
                raise ValueError(f"a field of wire type {other}")


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


@functools.cache
def _messages() -> Messages:
    stored = resources.files("manta_embedded.api").joinpath(FILE).read_bytes()
    return msgspec.json.decode(stored, type=dict[str, dict[int, Field]])


def taken_from(texts: Iterable[str], sources: Mapping[str, str]) -> bytes:
    """The file as it should be by these .proto files, and by the Go types of the same packages."""
    known: dict[str, str] = {}
    for text in texts:
        found = re.search(r"^package (\S+);", text, re.MULTILINE)
        assert found is not None
        known |= {f"{_flat(found.group(1))}.{match.group(1)}": match.group(2) for match in MESSAGE.finditer(text)}
    structs = {
        f"{package}.{match.group(1)}": match.group(2)
        for package, text in sources.items()
        for match in STRUCT.finditer(text)
    }
    waiting = [f"io.k8s.api.{words.split()[0]}.{name}" for words in ROOTS for name in words.split()[1:]]
    waiting.append(f"{META}DeleteOptions")
    messages: dict[str, dict[int, Field]] = {}
    while waiting:
        name = waiting.pop()
        if name in messages or name not in known:
            continue
        messages[name] = dict(_fields(name, known[name], structs.get(name, "")))
        waiting.extend(field.type for field in messages[name].values())
    lines = (b'"%s":%s' % (name.encode(), msgspec.json.encode(messages[name])) for name in sorted(messages))
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


def _fields(message: str, body: str, struct_body: str) -> Iterator[tuple[int, Field]]:
    tags = {match.group(3): match.groups() for match in TAG.finditer(struct_body)}
    for match in FIELD.finditer(re.sub(r"//.*", "", body)):
        label, plain, mapped, name, number = match.groups()
        kind = _full(plain or mapped, message)
        many = "map" if mapped else "list" if label == "repeated" else ""
        go_type, written, _ = tags.get(number, ("", name, ""))
        json_name, _, options = written.partition(",")
        omitted = "omitempty" in options and not go_type.startswith("*") and not kind.startswith("io.k8s")
        yield int(number), Field("" if "inline" in options else json_name or name, kind, many, omitted)


def _full(kind: str, message: str) -> str:
    if kind.startswith("."):
        return _flat(kind[1:])
    return f"{message.rpartition('.')[0]}.{kind}" if kind[0].isupper() else kind


def _flat(name: str) -> str:
    return name.replace("k8s.io.", "io.k8s.", 1)


def main(arguments: Sequence[str]) -> int:
    """Write the file anew from the folders of the Go modules k8s.io/api and k8s.io/apimachinery."""
    api, machinery = (Path(argument) for argument in arguments)
    files = [api / package / "v1" / "generated.proto" for package in PACKAGES.split()]
    files += sorted((machinery / "pkg").rglob("generated.proto"))
    sources = {f"io.k8s.api.{package}.v1": _go(api / package / "v1") for package in PACKAGES.split()}
    sources["io.k8s.apimachinery.pkg.apis.meta.v1"] = _go(machinery / "pkg" / "apis" / "meta" / "v1")
    Path(__file__).with_name(FILE).write_bytes(taken_from((file.read_text() for file in files), sources))
    return 0


def _go(folder: Path) -> str:
    return "\n".join(file.read_text() for file in sorted(folder.glob("*types.go")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
