"""A pod while it is being built: a fresh copy of the user's template, which the steps of the build add to."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from manta_common.api import labels
from manta_common.api.documents import without_nulls
from manta_common.api.raycluster import RayCluster
from manta_common.api.templates import ContainerPort, Resources
from manta_common.ray.cluster import Manifest, Unbuildable, head_address, owner_reference
from manta_common.ray.params import Params
from manta_common.ray.settings import RaySettings


class Draft(msgspec.Struct, kw_only=True):
    """The pod, what it is built from, and the parameters that its Ray is started with."""

    cluster: RayCluster
    settings: RaySettings
    node_type: str
    group: str
    params: Params
    pod: Manifest

    @property
    def is_head(self) -> bool:
        """Whether this becomes the head."""
        return self.node_type == labels.HEAD

    @property
    def metadata(self) -> Manifest:
        """The pod's metadata."""
        found: Manifest = self.pod["metadata"]
        return found

    @property
    def spec(self) -> Manifest:
        """The pod's spec."""
        found: Manifest = self.pod["spec"]
        return found

    @property
    def ray(self) -> Manifest:
        """The container that runs Ray."""
        found: Manifest = self.spec["containers"][0]
        return found

    @property
    def resources(self) -> Resources:
        """What Ray's container asks for and may take."""
        return msgspec.convert(self.ray.get("resources", {}), Resources)

    @property
    def ports(self) -> tuple[ContainerPort, ...]:
        """The ports of Ray's container."""
        return msgspec.convert(self.ray.get("ports", ()), tuple[ContainerPort, ...])

    @property
    def address(self) -> str:
        """The head's name in DNS."""
        return head_address(self.cluster, self.settings)

    def container(self, name: str) -> Manifest | None:
        """The container of that name."""
        return next((one for one in self.spec["containers"] if one.get("name") == name), None)

    def init_container(self, name: str) -> Manifest | None:
        """The init container of that name."""
        return next((one for one in self.spec.get("initContainers", ()) if one.get("name") == name), None)


def pod_from(cluster: RayCluster, template: Raw) -> Manifest:
    """A pod with all that the user's template says, owned by the cluster."""
    decoded = without_nulls(msgspec.json.decode(template))
    spec = decoded.get("spec") or {}
    if not spec.get("containers"):
        raise Unbuildable("a pod template should have at least one container")
    metadata = decoded.get("metadata") or {}
    metadata |= {"namespace": cluster.metadata.namespace, "ownerReferences": [owner_reference(cluster)]}
    for name in ("labels", "annotations"):
        metadata.setdefault(name, {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def variable(name: str, value: str) -> Manifest:
    """An environment variable with a text."""
    return {"name": name, "value": value}


def field_variable(name: str, path: str) -> Manifest:
    """An environment variable that the kubelet fills from the pod's own fields."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def decoded(raws: Iterable[Raw]) -> list[Any]:
    """Options that the cluster's spec carries unread."""
    return [msgspec.json.decode(raw) for raw in raws]


def has_variable(container: Mapping[str, Any], name: str) -> bool:
    """Whether a container's environment names a variable."""
    return any(one["name"] == name for one in container.get("env", ()))


def has_mount(container: Mapping[str, Any], path: str) -> bool:
    """Whether a container has something mounted at a path."""
    return any(one["mountPath"] == path for one in container.get("volumeMounts", ()))


def append(container: Manifest, key: str, items: Iterable[Mapping[str, Any]]) -> None:
    """Add items to one of a container's or a spec's lists."""
    added = list(items)
    if added:
        container[key] = [*container.get(key, ()), *added]


def append_absent(container: Manifest, variables: Iterable[Mapping[str, Any]]) -> None:
    """Add the variables whose names the container does not have yet."""
    for one in variables:
        if not has_variable(container, one["name"]):
            append(container, "env", [one])


def mount(container: Manifest, wanted: Mapping[str, Any]) -> None:
    """Mount a volume unless something is mounted there."""
    if not has_mount(container, wanted["mountPath"]):
        append(container, "volumeMounts", [wanted])


def add_volume(spec: Manifest, wanted: Mapping[str, Any]) -> None:
    """Add a volume unless there is one of that name."""
    if all(one["name"] != wanted["name"] for one in spec.get("volumes", ())):
        append(spec, "volumes", [wanted])


def equal_resources(cpu: str, memory: str) -> Manifest:
    """Requests and limits that are the same."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}
