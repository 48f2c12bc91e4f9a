"""Every write, from what was sent to what is stored."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from manta_common.keys import Key
from manta_common.kube.protocol import Apply, JsonPatch, MergePatch, Patch
from manta_embedded.store import (
    applicable,
    contents,
    deletion,
    errors,
    fitting,
    grants,
    patching,
    prepare,
    strategic,
    subresources,
    tracking,
    validation,
)
from manta_embedded.store.addresses import Addresses
from manta_embedded.store.admission import Admission, Review
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.errors import Cause
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import EMPTY, Obj, metadata, with_metadata
from manta_embedded.store.schema import faults
from manta_embedded.store.shapes import ANYTHING, Shape
from manta_embedded.store.strategic import StrategicPatch
from manta_embedded.store.tracking import Write
from manta_embedded.store.writers import Writer

MADE_BY_UPDATE = ("leases", "roles", "rolebindings", "clusterroles", "clusterrolebindings")


class Ground(grants.Ground, Protocol):
    """What a write stands on."""

    admissions: list[Admission]

    def commit(self, served: Served, key: Key, old: Obj | None, new: Obj | None) -> Obj:
        """Store, or remove."""


class Writing:
    """Carries writes out; who asks for one has nothing more to check."""

    def __init__(self, ground: Ground, addresses: Addresses) -> None:
        self._ground, self._grants = ground, grants.Grants(ground, addresses)

    def create(self, served: Served, namespace: str, body: Obj, writer: Writer) -> Obj:
        """Create an object."""
        given = prepare.typed(served, body)
        return self._create(
            served, namespace, given, tracking.by_updater(served, writer, self._grants.time(), (None, EMPTY))
        )

    def update(self, served: Served, key: Key, body: Obj, writer: Writer, *, subresource: str = "") -> Obj:
        """Replace an object, or a part of it."""
        subresources.check(served, subresource)
        if served.kind.plural in MADE_BY_UPDATE and self._ground.bucket(served.storage).find(key) is None:
            return self.create(served, key.namespace, body, writer)
        old = self._existing(served, key)
        if subresource == "scale":
            return self._rescale(served, old, body, writer)
        given = prepare.typed(served, body)
        if served.custom and not metadata(given).get("resourceVersion"):
            raise errors.unconditional(served, key.name)
        write = tracking.by_updater(served, writer, self._grants.time(), (old, given), subresource)
        return self._change(served, old, given, write)

    def patch(
        self, served: Served, key: Key, patch: Patch | StrategicPatch, writer: Writer, *, subresource: str = ""
    ) -> Obj:
        """Change an object, or a part of it."""
        subresources.check(served, subresource)
        if isinstance(patch, Apply):
            return self._apply(served, key, patch, subresource)
        old = self._existing(served, key)
        shown = served.shown(old)
        if subresource == "scale":
            return self._rescale(served, old, _patched(subresources.scale_of(served, shown), patch, ANYTHING), writer)
        new = _patched(shown, patch, served.shape)
        given = prepare.typed(served, new)
        write = tracking.by_updater(served, writer, self._grants.time(), (old, given), subresource)
        return self._change(served, old, given, write)

    def delete(self, served: Served, key: Key, options: Deletion) -> Obj:
        """Begin the deletion of an object, or end it at once."""
        old = self._existing(served, key)
        deletion.check(served, old, options)
        self._admitted(Review(operation="DELETE", served=served, key=key, old=old))
        new = deletion.marked(served, old, options, self._ground.now())
        if deletion.is_due(served, new):
            return self._ground.commit(served, key, old, None)
        return old if new is old else self._ground.commit(served, key, old, new)

    def bind(self, served: Served, key: Key, node: str) -> Obj:
        """Put a pod on a node."""
        old = self._existing(served, key)
        return self._ground.commit(served, key, old, subresources.bound(served, old, node, self._grants.time()))

    def _rescale(self, served: Served, old: Obj, scale: Obj, writer: Writer) -> Obj:
        """Change the number of replicas; the answer is the scale."""
        given = subresources.rescaled(served, served.shown(old), scale)
        write = tracking.by_updater(served, writer, self._grants.time(), (old, EMPTY), "scale")
        changed = self._change(served, old, given, msgspec.structs.replace(write, subresource=""))
        return subresources.scale_of(served, served.shown(changed))

    def _apply(self, served: Served, key: Key, patch: Apply, subresource: str) -> Obj:
        config = applicable.check(served, key.name, patch.body)
        prepare.check_key(served, key, config)
        old = self._ground.bucket(served.storage).find(key)
        if old is None and subresource:
            raise errors.not_found(served, key.name)
        _check_applied_uid(served, old, config)
        new, write = tracking.by_applier(served, patch, self._grants.time(), (old, config), subresource)
        self._refuse(served, key.name, list(applicable.null_causes(new, served.shape)) if served.custom else [])
        if old is None:
            return self._create(served, key.namespace, new, write)
        return self._change(served, old, new, write)

    def _create(self, served: Served, namespace: str, given: Obj, write: Write) -> Obj:
        fitted = fitting.fitted(served, given)
        self._grants.check_namespace(served, namespace, metadata(fitted).get("name", ""))
        obj = self._grants.identified(served, prepare.created(served, namespace, served.stored(fitted)))
        name = obj["metadata"].get("name", "")
        self._refuse(served, name, validation.creation_causes(served, obj))
        obj = self._grants.defaulted(served, obj)
        held = write.track(None, obj)
        key = Key(namespace if served.kind.namespaced else "", name)
        obj = self._admitted(Review(operation="CREATE", served=served, key=key, new=self._grants.started(served, obj)))
        if self._ground.bucket(served.storage).find(key) is not None:
            raise errors.already_exists(served, name)
        return self._ground.commit(served, key, None, with_metadata(obj, managedFields=held))

    def _change(self, served: Served, old: Obj, given: Obj, write: Write) -> Obj:
        name = old["metadata"]["name"]
        key = Key(old["metadata"].get("namespace", ""), name)
        prepare.check_key(served, key, given)
        prepare.check_version(served, old, given)
        fitted = fitting.fitted(served, given, served.shown(old))
        new = prepare.updated(served, old, served.stored(fitted), write.subresource)
        new = self._admitted(
            Review(
                operation="UPDATE",
                served=served,
                key=key,
                subresource=write.subresource,
                old=old,
                new=self._grants.carried(served, old, new, write.subresource),
            )
        )
        self._refuse(served, name, validation.update_causes(served, old, new))
        if prepare.is_same(old, new) and not write.touches:
            return old
        held = write.track(old, new)
        new = with_metadata(new, generation=prepare.next_generation(served, old, new), managedFields=held)
        if deletion.is_due(served, new):  # the answer bears the version from before the end
            self._ground.commit(served, key, new, None)
            return with_metadata(new, resourceVersion=old["metadata"]["resourceVersion"])
        return self._ground.commit(served, key, old, new)

    def _existing(self, served: Served, key: Key) -> Obj:
        found = self._ground.bucket(served.storage).find(key)
        if found is None:
            raise errors.not_found(served, key.name)
        return found

    def _admitted(self, review: Review) -> Obj:
        new = review.new
        for admission in self._ground.admissions:
            new = admission.admit(msgspec.structs.replace(review, new=new))
        return new or {}

    def _refuse(self, served: Served, name: str, causes: Sequence[Cause]) -> None:
        if causes:
            raise errors.invalid(served, name, causes)


def _patched(shown: Obj, patch: JsonPatch | MergePatch | StrategicPatch, shape: Shape) -> Any:
    if isinstance(patch, StrategicPatch):
        return strategic.merged(shown, patch.body, shape)
    if isinstance(patch, JsonPatch):
        return patching.apply_operations(shown, patch.operations)
    return patching.merge(shown, patch.body)


def _check_applied_uid(served: Served, old: Obj | None, config: Obj) -> None:
    uid, name = metadata(config).get("uid", ""), metadata(config)["name"]
    if uid and old is None:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise errors.conflict(served, name, why)
    if uid and old is not None and uid != old["metadata"]["uid"]:
        raise errors.invalid(served, name, [faults.invalid("metadata.uid", uid, contents.IMMUTABLE)])
