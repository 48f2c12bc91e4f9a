"""What a cluster asks for in all: numbers of workers, and CPU, memory, GPUs and TPUs."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from manta_common.api.documents import without_nulls
from manta_common.api.raycluster import RayClusterSpec
from manta_common.api.raygroups import WorkerGroupSpec
from manta_common.api.templates import Resources, pod_template
from manta_common.ray.params import is_gpu
from manta_common.ray.quantities import Quantity, amount, multiplied, total

MOST_REPLICAS: Final = 2**31 - 1
_TPU: Final = "google.com/tpu"


class Totals(msgspec.Struct, frozen=True):
    """What head and workers ask for, as canonical quantities."""

    cpu: str
    memory: str
    gpu: str
    tpu: str


def distinct(groups: Iterable[WorkerGroupSpec]) -> list[WorkerGroupSpec]:
    """The groups by name; of several with one name, whose pods no label tells apart, only the first."""
    first: dict[str, WorkerGroupSpec] = {}
    for group in groups:
        first.setdefault(group.group_name, group)
    return list(first.values())


def group_replicas(group: WorkerGroupSpec) -> int:
    """How many workers a group is to have, within its bounds; a suspended group has none."""
    if group.suspend:
        return 0
    low, high = _least(group), _most(group)
    if group.replicas is None or group.replicas < low:
        return low
    return min(group.replicas, high)


def desired_workers(spec: RayClusterSpec) -> int:
    """Worker pods that should be there, as far as a status can say it."""
    return min(MOST_REPLICAS, sum(group_replicas(group) * _hosts(group) for group in distinct(spec.worker_group_specs)))


def min_workers(spec: RayClusterSpec) -> int:
    """Fewest worker pods that the groups allow, as far as a status can say it."""
    return min(MOST_REPLICAS, sum(_least(group) * _hosts(group) for group in _active(spec)))


def max_workers(spec: RayClusterSpec) -> int:
    """Most worker pods that the groups allow, as far as a status can say it."""
    return min(MOST_REPLICAS, sum(_most(group) * _hosts(group) for group in _active(spec)))


def pod_resources(containers: Iterable[Resources]) -> dict[str, Quantity]:
    """What the containers of one pod ask for: requests, and limits where there are none."""
    wanted = ({**one.limits, **one.requests} for one in containers)
    return total({name: amount(text) for name, text in amounts.items()} for amounts in wanted)


def template_resources(template: Mapping[str, Any]) -> dict[str, Quantity]:
    """What one pod of a template asks for; init containers do not count."""
    containers = (without_nulls(template).get("spec") or {}).get("containers", ())
    return pod_resources(msgspec.convert(one.get("resources", {}), Resources) for one in containers)


def desired_resources(spec: RayClusterSpec) -> dict[str, Quantity]:
    """What the head and as many workers as the spec names ask for; KubeRay does not heed the bounds here."""
    workers = ((group, max(0, group.replicas or 0)) for group in _active(spec))
    return _resources(spec, [(group, replicas * group.num_of_hosts) for group, replicas in workers])


def min_resources(spec: RayClusterSpec) -> dict[str, Quantity]:
    """What the head and the fewest workers ask for."""
    return _resources(spec, [(group, _least(group) * group.num_of_hosts) for group in _active(spec)])


def resource_totals(spec: RayClusterSpec) -> Totals:
    """The sums that the status shows."""
    wanted = desired_resources(spec)
    gpus = total({"gpu": found} for name, found in sorted(wanted.items()) if is_gpu(name))
    return Totals(
        cpu=str(wanted.get("cpu", Quantity())),
        memory=str(wanted.get("memory", Quantity())),
        gpu=str(gpus.get("gpu", Quantity())),
        tpu=str(wanted.get(_TPU, Quantity())),
    )


def _resources(spec: RayClusterSpec, groups: list[tuple[WorkerGroupSpec, int]]) -> dict[str, Quantity]:
    workers = (multiplied(_asked(group.template), pods) for group, pods in groups)
    return total([_asked(spec.head_group_spec.template), *workers])


def _asked(template: Raw) -> dict[str, Quantity]:
    return pod_resources(container.resources for container in pod_template(template).spec.containers)


def _active(spec: RayClusterSpec) -> list[WorkerGroupSpec]:
    return [group for group in distinct(spec.worker_group_specs) if not group.suspend]


def _least(group: WorkerGroupSpec) -> int:
    return group.min_replicas or 0


def _hosts(group: WorkerGroupSpec) -> int:
    """Pods of one worker; fewer than none are none."""
    return max(0, group.num_of_hosts)


def _most(group: WorkerGroupSpec) -> int:
    return MOST_REPLICAS if group.max_replicas is None else group.max_replicas
