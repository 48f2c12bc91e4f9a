"""The environment of a container: its own variables, in order, on top of what the node gives. Pure."""

import base64
import binascii
import re
from collections.abc import Mapping

import msgspec

from manta_embedded.node import fields
from manta_embedded.node.faults import config_error
from manta_embedded.store.objects import Obj

REFERENCE = re.compile(r"\$(?:\$|\(([^()]*)\))")
NAME = re.compile(r"[^=\0]+$")


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """What variables may come from: config maps and secrets by name (None: there is none), and the pod's own facts."""

    configmaps: Mapping[str, Obj | None] = {}
    secrets: Mapping[str, Obj | None] = {}
    addresses: tuple[str, str] = ("", "")  # the host's, the pod's
    allocatable: dict[str, str] = {}


def references(spec: Obj) -> tuple[set[str], set[str]]:
    """The names of all config maps and secrets that containers take variables from."""
    configmaps, secrets = set[str](), set[str]()
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        for source in container.get("envFrom") or ():
            configmaps |= {one["name"] for one in [source.get("configMapRef")] if one}
            secrets |= {one["name"] for one in [source.get("secretRef")] if one}
        for variable in container.get("env") or ():
            source = variable.get("valueFrom") or {}
            configmaps |= {one["name"] for one in [source.get("configMapKeyRef")] if one}
            secrets |= {one["name"] for one in [source.get("secretKeyRef")] if one}
    return configmaps, secrets


def environment(pod: Obj, container: Obj, given: Mapping[str, str], sources: Sources) -> dict[str, str]:
    """All variables; later ones may refer to earlier ones as $(NAME)."""
    found = dict(given)
    for source in container.get("envFrom") or ():
        found |= _bulk(pod, source, sources)
    for variable in container.get("env") or ():
        value = _value(pod, container, variable, found=found, sources=sources)
        if value is not None:
            found[variable["name"]] = value
    return found


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """A text with $(NAME) replaced where there is such a variable; $$ is a dollar sign."""

    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return variables.get(match[1], match[0])

    return REFERENCE.sub(replace, text)


def _value(pod: Obj, container: Obj, variable: Obj, *, found: Mapping[str, str], sources: Sources) -> str | None:
    source = variable.get("valueFrom")
    if not source:
        return expanded(variable.get("value") or "", found)
    if reference := source.get("fieldRef"):
        return fields.field(pod, reference["fieldPath"], sources.addresses)
    if reference := source.get("resourceFieldRef"):
        return fields.resource(_named(pod, reference, container), reference, sources.allocatable)
    if reference := source.get("configMapKeyRef"):
        return _key(pod, "ConfigMap", reference, sources.configmaps)
    if reference := source.get("secretKeyRef"):
        return _key(pod, "Secret", reference, sources.secrets)
    raise config_error(f"env {variable['name']}: standalone has no source of the kind {', '.join(source)}")


def _named(pod: Obj, reference: Obj, container: Obj) -> Obj:
    name = reference.get("containerName")
    known = {one["name"]: one for one in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"])}
    return known.get(name, container) if name else container


def _key(pod: Obj, kind: str, reference: Obj, known: Mapping[str, Obj | None]) -> str | None:
    name, key = reference["name"], reference["key"]
    found = known.get(name)
    if found is not None and key in (entries := contents(kind, found)):
        return entries[key].decode(errors="surrogateescape")
    if reference.get("optional"):
        return None
    if found is None:
        raise config_error(f'{kind.lower()} "{name}" not found')
    raise config_error(f"couldn't find key {key} in {kind} {pod['metadata']['namespace']}/{name}")


def _bulk(pod: Obj, source: Obj, sources: Sources) -> dict[str, str]:
    kind, field, known = (
        ("ConfigMap", "configMapRef", sources.configmaps)
        if source.get("configMapRef")
        else ("Secret", "secretRef", sources.secrets)
    )
    reference = source.get(field) or {}
    found = known.get(reference.get("name", ""))
    if found is None:
        if reference.get("optional"):
            return {}
        raise config_error(f'{kind.lower()} "{reference.get("name", "")}" not found')
    prefix = source.get("prefix") or ""
    entries = contents(kind, found, binary=False)
    return {
        f"{prefix}{name}": value.decode(errors="surrogateescape")
        for name, value in entries.items()
        if NAME.match(f"{prefix}{name}")
    }


def contents(kind: str, obj: Obj, *, binary: bool = True) -> dict[str, bytes]:
    """The entries of a config map or a secret."""
    if kind == "Secret":
        return {name: _decoded(value) for name, value in (obj.get("data") or {}).items()}
    found = {name: str(value).encode() for name, value in (obj.get("data") or {}).items()}
    if binary:
        found |= {name: _decoded(value) for name, value in (obj.get("binaryData") or {}).items()}
    return found


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise config_error(f"a value is no base64: {error}") from error
