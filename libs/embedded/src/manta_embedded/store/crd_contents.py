"""The rules for CRDs without which no kind could be served."""

from collections.abc import Iterator
from typing import Any

from manta_embedded.store import errors
from manta_embedded.store.errors import Cause
from manta_embedded.store.objects import EMPTY, Obj
from manta_embedded.store.schema import faults

NO_STORAGE = "must have exactly one version marked as storage version"
TEXTS = ("group", "scope")
NAME_TEXTS = ("plural", "singular", "kind", "listKind")


def definition_causes(obj: Obj, _old: Obj | None) -> Iterator[Cause]:
    """What is wrong with a CRD; 400 when a part of it is of another type."""
    spec = _object(obj.get("spec"), "spec")
    names = _object(spec.get("names"), "spec.names")
    versions = _list(spec.get("versions"), "spec.versions")
    for field in TEXTS:
        yield from _text_causes(spec.get(field), f"spec.{field}")
    for field in ("plural", "kind"):
        yield from _text_causes(names.get(field), f"spec.names.{field}")
    for field in NAME_TEXTS:
        _text(names.get(field), f"spec.names.{field}")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield faults.invalid("spec.versions", versions or None, NO_STORAGE)
    for number, version in enumerate(versions):
        yield from _version_causes(version, f"spec.versions[{number}]")
    name, wanted = obj["metadata"].get("name", ""), f"{names.get('plural', '')}.{spec.get('group', '')}"
    if name != wanted:
        yield faults.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _version_causes(version: Obj, path: str) -> Iterator[Cause]:
    yield from _text_causes(version.get("name"), f"{path}.name")
    schema = _object(version.get("schema"), f"{path}.schema")
    _object(schema.get("openAPIV3Schema"), f"{path}.schema.openAPIV3Schema")
    parts = _object(version.get("subresources"), f"{path}.subresources")
    scale = _object(parts.get("scale"), f"{path}.subresources.scale")
    for field in ("specReplicasPath", "statusReplicasPath") if scale else ():
        yield from _text_causes(scale.get(field), f"{path}.subresources.scale.{field}")
    for part in ("additionalPrinterColumns", "selectableFields"):
        for number, one in enumerate(_list(version.get(part), f"{path}.{part}")):
            yield from _text_causes(one.get("jsonPath"), f"{path}.{part}[{number}].jsonPath")
    for number, one in enumerate(_list(version.get("additionalPrinterColumns"), path)):
        for field in ("name", "type"):
            yield from _text_causes(one.get(field), f"{path}.additionalPrinterColumns[{number}].{field}")


def _text_causes(value: Any, path: str) -> Iterator[Cause]:
    if not _text(value, path):
        yield faults.required(path)


def _text(value: Any, path: str) -> str:
    if value is not None and not isinstance(value, str):
        raise _unreadable(path, "string")
    return value or ""


def _object(value: Any, path: str) -> Obj:
    if value is not None and not isinstance(value, dict):
        raise _unreadable(path, "object")
    return value or EMPTY


def _list(value: Any, path: str) -> list[Obj]:
    if value is not None and not (isinstance(value, list) and all(isinstance(one, dict) for one in value)):
        raise _unreadable(path, "list of objects")
    return value or []


def _unreadable(path: str, wanted: str) -> errors.StatusError:
    name = "CustomResourceDefinition"
    return errors.bad_request(f'{name} in version "v1" cannot be handled as a {name}: {path} is no {wanted}')
