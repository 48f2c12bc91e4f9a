"""The rules that a write must keep: those for metadata, and those for the content of built-in kinds."""

import re
from collections.abc import Callable, Iterator

from manta_embedded.store import contents, crd_contents
from manta_embedded.store.contents import IMMUTABLE
from manta_embedded.store.errors import Cause
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj
from manta_embedded.store.schema import faults, metadata

WRITABLE = ("labels", "annotations", "ownerReferences", "finalizers")  # the server keeps the rest of the metadata
FROZEN = "field is immutable when `immutable` is set"
CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
CONFIG_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',"
    "  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
Check = Callable[[Obj, Obj | None], Iterator[Cause]]


def creation_causes(served: Served, obj: Obj) -> list[Cause]:
    """What is wrong with a new object."""
    return [*metadata.creation_causes(served, obj), *_content_causes(served, obj, None)]


def update_causes(served: Served, old: Obj, new: Obj) -> list[Cause]:
    """What is wrong with a change of an object."""
    causes = list(_content_causes(served, new, old))
    before, after = old["metadata"], new["metadata"]
    if any(before.get(field) != after.get(field) for field in WRITABLE):
        causes = [*metadata.update_causes(served, old, new), *causes]
    return causes


def _content_causes(served: Served, obj: Obj, old: Obj | None) -> Iterator[Cause]:
    check = CONTENT.get(served.storage)
    return check(obj, old) if check else iter(())


def _config_causes(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    for part in ("data", "binaryData"):
        yield from _key_causes(obj, part)
    if old is not None and old.get("immutable"):
        yield from _frozen_causes(obj, old, ("data", "binaryData"))


def _secret_causes(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from _key_causes(obj, "data")
    if old is not None and old.get("type") != obj.get("type"):
        yield faults.invalid("type", obj.get("type"), IMMUTABLE)
    if old is not None and old.get("immutable"):
        yield from _frozen_causes(obj, old, ("data",))


def _key_causes(obj: Obj, part: str) -> Iterator[Cause]:
    for key in obj.get(part) or {}:
        if not CONFIG_KEY.fullmatch(key):
            yield faults.invalid(f"{part}[{key}]", key, CONFIG_KEY_TEXT)


def _frozen_causes(obj: Obj, old: Obj, parts: tuple[str, ...]) -> Iterator[Cause]:
    if not obj.get("immutable"):
        yield faults.forbidden("immutable", FROZEN)
    for part in parts:
        if obj.get(part) != old.get(part):
            yield faults.forbidden(part, FROZEN)


CONTENT: dict[tuple[str, str], Check] = {
    ("", "configmaps"): _config_causes,
    ("", "secrets"): _secret_causes,
    ("", "pods"): contents.pod_causes,
    ("", "services"): contents.service_causes,
    ("batch", "jobs"): contents.job_causes,
    ("apiextensions.k8s.io", "customresourcedefinitions"): crd_contents.definition_causes,
    ("rbac.authorization.k8s.io", "rolebindings"): contents.binding_causes,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): contents.binding_causes,
}
