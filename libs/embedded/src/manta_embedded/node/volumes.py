"""What is to be mounted where: a plan made from a pod's spec. Pure.

Files of config maps, secrets, tokens and the downward API are written by whoever carries the plan out.
"""

import posixpath
from collections.abc import Mapping
from typing import Any

import msgspec

from manta_common.ray.quantities import amount
from manta_embedded.node import env, fields
from manta_embedded.node.faults import config_error
from manta_embedded.store.objects import Obj

ACCOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
ACCOUNT_VOLUME = "manta-serviceaccount"
TOKEN_SECONDS = 3607
FILE_MODE = 0o644


class File(msgspec.Struct, frozen=True):
    """A file of a volume."""

    path: str
    content: bytes
    mode: int = FILE_MODE


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A file with a token of the pod's service account."""

    path: str
    audience: str = ""
    seconds: int = TOKEN_SECONDS


class Volume(msgspec.Struct, frozen=True, kw_only=True):
    """One volume: files, a folder that begins empty, or one that is kept."""

    name: str
    files: tuple[File, ...] = ()
    tokens: tuple[Token, ...] = ()
    kept: str = ""  # under the folder of claims
    host: str = ""
    host_kind: str = ""
    readonly: bool = False


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """Where a container sees a volume, or a part of it."""

    volume: str
    path: str
    part: str = ""
    readonly: bool = False


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What volumes are made of."""

    sources: env.Sources
    ca: str = ""


def references(spec: Obj) -> tuple[set[str], set[str]]:
    """The names of all config maps and secrets in volumes."""
    configmaps, secrets = set[str](), set[str]()
    for volume in spec.get("volumes") or ():
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            configmaps |= {one["name"] for one in [source.get("configMap")] if one}
            secrets |= {one.get("secretName") or one.get("name") for one in [source.get("secret")] if one}
    return configmaps, secrets


def volumes(pod: Obj, facts: Facts) -> dict[str, Volume]:
    """All volumes of a pod, and the one with its service account's token."""
    found = {one["name"]: _volume(pod, one, facts) for one in pod["spec"].get("volumes") or ()}
    if mounts_account(pod):
        found[ACCOUNT_VOLUME] = Volume(
            name=ACCOUNT_VOLUME,
            files=(File("ca.crt", facts.ca.encode()), File("namespace", pod["metadata"]["namespace"].encode())),
            tokens=(Token(path="token"),),
            readonly=True,
        )
    return found


def mounts(pod: Obj, container: Obj, variables: Mapping[str, str]) -> list[Mount]:
    """What a container mounts where, parents before their children."""
    found = [_mount(one, variables) for one in container.get("volumeMounts") or ()]
    if mounts_account(pod) and all(one.path != ACCOUNT_PATH for one in found):
        found.append(Mount(volume=ACCOUNT_VOLUME, path=ACCOUNT_PATH, readonly=True))
    return sorted(found, key=lambda mount: mount.path.count("/"))


def mounts_account(pod: Obj) -> bool:
    """Whether it gets a token though nobody asked for it; admission does that on a real cluster."""
    return pod["spec"].get("automountServiceAccountToken") is not False


def memory(pod: Obj) -> dict[str, int]:
    """The volumes that are memory, and how many bytes each may have; 0 where there is no limit."""
    found = {one["name"]: one["emptyDir"] for one in pod["spec"].get("volumes") or () if one.get("emptyDir")}
    return {
        name: amount(given["sizeLimit"]).value if given.get("sizeLimit") else 0
        for name, given in found.items()
        if given.get("medium") == "Memory"
    }


def _mount(mount: Obj, variables: Mapping[str, str]) -> Mount:
    part = env.expanded(mount.get("subPathExpr") or "", variables) or mount.get("subPath") or ""
    if part and (part.startswith("/") or ".." in part.split("/")):
        raise config_error(f'volumeMounts[{mount["name"]}].subPath "{part}" must be a relative path without ".."')
    path = posixpath.normpath(mount["mountPath"])
    if not path.startswith("/") or path == "/":
        raise config_error(f'volumeMounts[{mount["name"]}].mountPath "{mount["mountPath"]}" must be an absolute path')
    return Mount(volume=mount["name"], path=path, part=part, readonly=bool(mount.get("readOnly")))


def _volume(pod: Obj, volume: Obj, facts: Facts) -> Volume:
    name = volume["name"]
    if "emptyDir" in volume:
        return Volume(name=name)
    if claim := volume.get("persistentVolumeClaim"):
        kept = f"{pod['metadata']['namespace']}/{claim['claimName']}"
        return Volume(name=name, kept=kept, readonly=bool(claim.get("readOnly")))
    if path := volume.get("hostPath"):
        return Volume(name=name, host=path["path"], host_kind=path.get("type") or "")
    files, tokens = _files(pod, volume, facts)
    return Volume(name=name, files=tuple(files), tokens=tuple(tokens), readonly=True)


def _files(pod: Obj, volume: Obj, facts: Facts) -> tuple[list[File], list[Token]]:
    if projected := volume.get("projected"):
        mode = projected.get("defaultMode", FILE_MODE)
        files: list[File] = []
        tokens: list[Token] = []
        for source in projected.get("sources") or ():
            if token := source.get("serviceAccountToken"):
                seconds = token.get("expirationSeconds") or TOKEN_SECONDS
                tokens.append(Token(path=token["path"], audience=token.get("audience") or "", seconds=seconds))
            else:
                files += _source_files(pod, source, facts, mode=mode, name=volume["name"])
        return files, tokens
    for kind in ("configMap", "secret", "downwardAPI"):
        if kind in volume:
            mode = volume[kind].get("defaultMode", FILE_MODE)
            return _source_files(pod, {kind: volume[kind]}, facts, mode=mode, name=volume["name"]), []
    kinds = ", ".join(sorted(set(volume) - {"name"}))
    raise config_error(
        f'volume "{volume["name"]}": standalone has no volumes of the kind {kinds}; '
        "use emptyDir, configMap, secret, projected, downwardAPI, hostPath or persistentVolumeClaim"
    )


def _source_files(pod: Obj, source: Obj, facts: Facts, *, mode: int, name: str) -> list[File]:
    if given := source.get("configMap"):
        return _entries("ConfigMap", given["name"], given, facts.sources.configmaps, mode=mode)
    if given := source.get("secret"):
        found = given.get("secretName") or given.get("name")
        return _entries("Secret", found, given, facts.sources.secrets, mode=mode)
    if given := source.get("downwardAPI"):
        return [_item(pod, item, facts.sources, mode) for item in given.get("items") or ()]
    raise config_error(f'volume "{name}": standalone cannot project {", ".join(source)}')


def _entries(kind: str, name: str, given: Obj, known: Mapping[str, Obj | None], *, mode: int) -> list[File]:
    found, optional = known.get(name), bool(given.get("optional"))
    if found is None:
        if optional:
            return []
        raise config_error(f'MountVolume.SetUp failed: {kind.lower()} "{name}" not found')
    entries = env.contents(kind, found)
    items = given.get("items") or [{"key": key, "path": key} for key in sorted(entries)]
    missing = [item["key"] for item in items if item["key"] not in entries]
    if missing and not optional:
        raise config_error(f"{kind.lower()} references non-existent config key: {missing[0]}")
    return [File(item["path"], entries[item["key"]], _mode(item, mode)) for item in items if item["key"] in entries]


def _item(pod: Obj, item: Obj, sources: env.Sources, mode: int) -> File:
    if reference := item.get("fieldRef"):
        text = fields.field(pod, reference["fieldPath"], sources.addresses)
    else:
        reference = item["resourceFieldRef"]
        found = next(one for one in pod["spec"]["containers"] if one["name"] == reference["containerName"])
        text = fields.resource(found, reference, sources.allocatable)
    return File(item["path"], text.encode(), _mode(item, mode))


def _mode(item: Obj, mode: int) -> int:
    given: Any = item.get("mode")
    return mode if given is None else int(given)
