"""What is read of the pod templates, which are otherwise carried as they came."""

import msgspec
from msgspec import UNSET, Raw, UnsetType, field

from manta_common.api.wire import Quantity, Raws, Strings, Wire


class EnvVar(Wire, frozen=True, kw_only=True):
    """An environment variable: text, or taken from elsewhere."""

    name: str
    value: str = ""
    value_from: Raw | UnsetType = UNSET


class VolumeMount(Wire, frozen=True, kw_only=True):
    """Where a volume appears in a container."""

    name: str
    mount_path: str
    sub_path: str = ""
    read_only: bool = False


class ContainerPort(Wire, frozen=True, kw_only=True):
    """A port that a container listens on."""

    name: str = ""
    container_port: int
    protocol: str = ""


class Resources(Wire, frozen=True, kw_only=True):
    """What a container asks for and may take."""

    requests: dict[str, Quantity] = field(default_factory=dict)
    limits: dict[str, Quantity] = field(default_factory=dict)


class Container(Wire, frozen=True, kw_only=True):
    """What is read of a container in a template."""

    name: str
    image: str = ""
    image_pull_policy: str = ""
    command: Strings = ()
    args: Strings = ()
    env: tuple[EnvVar, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    resources: Resources = field(default_factory=Resources)
    liveness_probe: Raw | UnsetType = UNSET
    readiness_probe: Raw | UnsetType = UNSET
    security_context: Raw | UnsetType = UNSET


class Volume(Wire, frozen=True, kw_only=True):
    """A volume of a pod; where it comes from is not read."""

    name: str


class TemplateSpec(Wire, frozen=True, kw_only=True):
    """What is read of the pod spec in a template."""

    # Required by the schema, yet `template: {}` passes: only a spec that is there must have them.
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    restart_policy: str = ""
    service_account_name: str = ""
    scheduler_name: str = ""
    priority_class_name: str = ""


class TemplateMeta(Wire, frozen=True, kw_only=True):
    """The metadata that a template may carry."""

    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    finalizers: Strings = ()


class PodTemplate(Wire, frozen=True, kw_only=True):
    """A pod template, as far as it is read."""

    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: TemplateSpec = field(default_factory=TemplateSpec)


def pod_template(raw: Raw) -> PodTemplate:
    """What there is to read in a pod template."""
    return _POD_TEMPLATE.decode(raw)


def env_vars(raws: Raws) -> tuple[EnvVar, ...]:
    """The environment variables among a Ray cluster's options."""
    return tuple(_ENV_VAR.decode(raw) for raw in raws)


def volume_mounts(raws: Raws) -> tuple[VolumeMount, ...]:
    """The volume mounts among a Ray cluster's options."""
    return tuple(_VOLUME_MOUNT.decode(raw) for raw in raws)


_POD_TEMPLATE = msgspec.json.Decoder(PodTemplate)
_ENV_VAR = msgspec.json.Decoder(EnvVar)
_VOLUME_MOUNT = msgspec.json.Decoder(VolumeMount)
