"""Bodies that come in and the forms that answers can have."""

import re
from typing import Any, Literal

import msgspec
import yaml

from manta_common import yamldepth
from manta_embedded.api import protobuf, values
from manta_embedded.store import errors
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
BODY_BYTES = 3 * 1024 * 1024
BODIES = (JSON, YAML, PROTOBUF)
PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
CUSTOM_PATCHES = (PATCHES[0], PATCHES[1], PATCHES[3])
LONG_NUMBER = re.compile(rb"[0-9]{19}")
Form = Literal["object", "table", "partial"]


class Wanted(msgspec.Struct, frozen=True):
    """The form of an answer, and whether it is to be YAML."""

    form: Form = "object"
    yaml: bool = False


PLAIN = Wanted()


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as Kubernetes reads it: what looks like a time is a text."""


_Loader.yaml_implicit_resolvers = {
    sign: [one for one in found if one[0] != "tag:yaml.org,2002:timestamp"]
    for sign, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def wanted(accept: str) -> Wanted:
    """The first form of an Accept header that can be given; 406 when there is none."""
    if accept in ("", JSON, "*/*"):
        return PLAIN
    for clause in accept.split(","):
        kind, _, rest = clause.strip().partition(";")
        parameters = dict(part.strip().split("=", 1) for part in rest.split(";") if "=" in part)
        if kind not in (JSON, YAML, "*/*", "application/*"):
            continue
        form: Form | None = _form(parameters)
        if form is not None:
            return Wanted(form, kind == YAML)
    text = f"only the following media types are accepted: {', '.join(BODIES)}"
    raise errors.StatusError(406, "NotAcceptable", text)


def content_type(header: str, accepted: tuple[str, ...]) -> str:
    """The type of a body; 415 when it is none of those. A body of no type is JSON."""
    found = header.partition(";")[0].strip().lower()
    if not found and JSON in accepted:
        return JSON
    if found not in accepted:
        text = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
        raise errors.StatusError(415, "UnsupportedMediaType", text)
    return found


def decoded(raw: bytes, kind: str, served: Served) -> Any:
    """The object that a body holds; 400 when it holds none."""
    if kind == PROTOBUF:
        return protobuf.decoded(raw, served.kind)
    name = served.kind.kind
    prefix = f"the object provided is unrecognized (must be of type {name}): couldn't get version/kind"
    return plain(raw, kind, prefix)


def plain(raw: bytes, kind: str, prefix: str) -> Any:
    """The value of a JSON or YAML text; 400, with this beginning, when it is neither."""
    try:
        found = msgspec.json.decode(raw)
        return values.plain(found) if LONG_NUMBER.search(raw) else found
    except (ValueError, RecursionError) as error:
        if not kind.endswith("yaml"):
            raise errors.bad_request(f"{prefix}; json parse error: {error}") from error
    try:
        text = raw.decode()
        yamldepth.check(text)
        return values.plain(yaml.load(text, Loader=_Loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise errors.bad_request(f"{prefix}; yaml parse error: {error}") from error


def as_yaml(body: bytes) -> bytes:
    """A JSON text as YAML."""
    text: str = yaml.dump(msgspec.json.decode(body, type=Obj), Dumper=yaml.CSafeDumper, sort_keys=True)
    return text.encode()


def _form(parameters: dict[str, str]) -> Form | None:
    match parameters.get("as", ""):
        case "":
            return None if "v" in parameters or "g" in parameters else "object"
        case "Table":
            return "table" if parameters.get("v") == "v1" else None
        case "PartialObjectMetadata" | "PartialObjectMetadataList":
            return "partial" if parameters.get("v") == "v1" else None
    return None
