"""Reads a file of settings, YAML or JSON, into its places: `partitions`, `watcher.partitions`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from manta_common.errors import Misconfigured
from manta_common.settings.names import SERVICES, section


def places(path: Path, service: str) -> dict[str, Any]:
    """What a file says to a service, by place; sections of other services are theirs to check."""
    document = _mapping(_parse(path), f"{path}")
    others = {section(other) for other in SERVICES} - {section(service)}
    found: dict[str, Any] = {}
    for key, value in document.items():
        if key == section(service) and service:
            found |= {f"{key}.{inner}": item for inner, item in _mapping(value, f"{path}: {key}").items()}
        elif key not in others:
            found[str(key)] = value
    return {place: value for place, value in found.items() if value is not None}


def _parse(path: Path) -> object:
    """The document; parsers' own messages quote the file, which may hold secrets, so only the place is passed on."""
    import yaml  # noqa: PLC0415  1 MiB that a service without such a file need not take

    try:
        content = path.read_bytes()
        return msgspec.json.decode(content) if path.suffix == ".json" else yaml.safe_load(content)
    except OSError as error:
        raise Misconfigured(f"{path}: cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise Misconfigured(f"{path}: is not JSON: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f": look at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise Misconfigured(f"{path}: is not YAML{where}") from None


def _mapping(document: object, where: str) -> Mapping[Any, Any]:
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        raise Misconfigured(f"{where}: expected names with their values")
    return document
