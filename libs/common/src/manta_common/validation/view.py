"""A cluster's spec made ready for its rules: pod templates read, variables by name, switches worked out."""

from collections.abc import Iterable, Mapping

import msgspec

from manta_common.api import annotations as keys
from manta_common.api import env
from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayClusterSpec
from manta_common.api.raygroups import WorkerGroupSpec
from manta_common.api.templates import Container, EnvVar, TemplateSpec, pod_template

RAY_CONTAINER = "template.spec.containers[0]"


class Group(msgspec.Struct, frozen=True):
    """A worker group with its pod template."""

    spec: WorkerGroupSpec
    pod: TemplateSpec
    path: str

    @property
    def name(self) -> str:
        """The group's name."""
        return self.spec.group_name

    @property
    def ray_container(self) -> Container:
        """The container that runs Ray."""
        return first_container(self.pod)


class ClusterView(msgspec.Struct, frozen=True):
    """A cluster's spec wherever it stands: in a RayCluster, a RayJob, a RayService or a RayCronJob."""

    spec: RayClusterSpec
    annotations: Mapping[str, str]
    gates: Gates
    path: str
    head: TemplateSpec
    groups: tuple[Group, ...]

    @property
    def head_path(self) -> str:
        """Where the head group stands."""
        return f"{self.path}.headGroupSpec"

    @property
    def ray_container(self) -> Container:
        """The head's container that runs Ray."""
        return first_container(self.head)

    @property
    def head_env(self) -> dict[str, EnvVar]:
        """The variables of the head's Ray container."""
        return by_name(self.ray_container.env)

    @property
    def autoscaling(self) -> bool:
        """Whether Ray's autoscaler runs."""
        return self.spec.enable_in_tree_autoscaling is True

    @property
    def autoscaler_version(self) -> str | None:
        """The autoscaler version that the spec names; Ray's own choice does not count."""
        return self.spec.autoscaler_options.version if self.spec.autoscaler_options else None

    @property
    def v2_by_env(self) -> bool:
        """Whether the old way, a variable of the head, turns autoscaler v2 on."""
        switch = self.head_env.get(env.ENABLE_AUTOSCALER_V2)
        return switch is not None and switch.value in {"1", "true"}

    @property
    def v2_chosen(self) -> bool:
        """Whether autoscaler v2 is asked for in either way."""
        return self.autoscaler_version == "v2" or self.v2_by_env

    @property
    def fault_tolerant(self) -> bool:
        """Whether the GCS' state outlives the head."""
        options = self.spec.gcs_fault_tolerance_options
        return options is not None or self.annotations.get(keys.FT_ENABLED, "").lower() == "true"

    def head_variable(self, name: str) -> str:
        """Return where a variable of the head's Ray container stands."""
        return f"{self.head_path}.{RAY_CONTAINER}.env[{name}]"


def cluster_view(spec: RayClusterSpec, *, annotations: Mapping[str, str], gates: Gates, path: str) -> ClusterView:
    """Return the view of a spec, with the annotations of the object around it."""
    return ClusterView(
        spec,
        annotations=annotations,
        gates=gates,
        path=path,
        head=pod_template(spec.head_group_spec.template).spec,
        groups=tuple(
            Group(group, pod_template(group.template).spec, f"{path}.workerGroupSpecs[{index}]")
            for index, group in enumerate(spec.worker_group_specs)
        ),
    )


def first_container(pod: TemplateSpec) -> Container:
    """Return the container that runs Ray, or an empty one where a rule of its own reports that there is none."""
    return pod.containers[0] if pod.containers else Container(name="")


def by_name(variables: Iterable[EnvVar]) -> dict[str, EnvVar]:
    """Return variables by name; of two with one name KubeRay looks at the first."""
    return {variable.name: variable for variable in reversed(tuple(variables))}


def restarts(pod: TemplateSpec) -> bool:
    """Tell whether a pod's template asks for restarts in place."""
    return pod.restart_policy not in {"", "Never"}
