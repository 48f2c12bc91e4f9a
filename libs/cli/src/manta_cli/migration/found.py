"""What a cluster with KubeRay has, as far as a move to Manta depends on it."""

from typing import Any

import msgspec

from manta_common.keys import Key


class Meta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Of an object's metadata what tells who looks after it, and whether it is about to go."""

    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: str | None = None

    @property
    def key(self) -> Key:
        """Its namespace and name."""
        return Key(self.namespace, self.name)


class Condition(msgspec.Struct, frozen=True):
    """One condition of an object."""

    type: str
    status: str


class RaySpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Of the specs of all Ray kinds what matters here."""

    suspend: bool | None = None
    managed_by: str | None = None
    enable_in_tree_autoscaling: bool | None = None


class RayStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Of their status likewise."""

    job_deployment_status: str | None = None
    conditions: tuple[Condition, ...] = ()

    def holds(self, condition: str) -> bool:
        """Whether a condition is true."""
        return any(one.type == condition and one.status == "True" for one in self.conditions)


class RayObject(msgspec.Struct, frozen=True, kw_only=True):
    """A RayCluster, RayJob, RayService or RayCronJob."""

    metadata: Meta
    spec: RaySpec = RaySpec()
    status: RayStatus = RayStatus()


class DeploymentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A Deployment's spec; its pod template as it is."""

    template: dict[str, Any]
    selector: dict[str, Any] = {}
    replicas: int = 1


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """A Deployment."""

    metadata: Meta
    spec: DeploymentSpec


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A CRD: the versions it serves and has stored, and whether it keeps the fields that Manta adds."""

    name: str
    served: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()
    current: bool = False


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """One KubeRay operator and what it was told."""

    deployment: Deployment
    container: dict[str, Any]
    file: dict[str, Any] = {}  # its configuration file, when it has one
    values: dict[str, Any] | None = None  # what helm was given; None when it cannot be read

    @property
    def name(self) -> str:
        """As a person names it."""
        return str(self.deployment.metadata.key)

    @property
    def running(self) -> bool:
        """Whether it is meant to run."""
        return self.deployment.spec.replicas > 0

    @property
    def version(self) -> tuple[int, int] | None:
        """Its minor version by the tag of its image; None when the tag does not tell."""
        tag = str(self.container.get("image", "")).partition("@")[0].rpartition(":")[2]
        numbers = tag.lstrip("v").split("-")[0].split(".")
        return (int(numbers[0]), int(numbers[1])) if len(numbers) > 2 and all(map(str.isdigit, numbers)) else None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    operators: tuple[Operator, ...] = ()
    definitions: tuple[Definition, ...] = ()
    objects: dict[str, tuple[RayObject, ...]] = {}  # by plural
    webhooks: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()  # ClusterRoles for people that the chart has too
    unread: tuple[str, ...] = ()  # what this user may not see
