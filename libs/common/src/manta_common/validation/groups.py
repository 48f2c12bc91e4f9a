"""Rules for the head group and the worker groups of a cluster."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from manta_common.gotext import GoError
from manta_common.validation.problem import Problem, Rule, joined
from manta_common.validation.syntax import label_value, qualified_name
from manta_common.validation.versions import WORKER_PRIORITY, parse_version
from manta_common.validation.view import ClusterView, Group

HEAD_NAME: Final = "Head"
_RESOURCE_PARAMS: Final = ("num-cpus", "num-gpus", "memory", "resources")

HEAD_WITHOUT_CONTAINER: Final = Rule(
    "headGroupSpec should have at least one container", "Give the head's pod template a container that runs Ray."
)
WORKER_WITHOUT_CONTAINER: Final = Rule(
    "workerGroupSpec should have at least one container",
    "Give the worker group's pod template a container that runs Ray.",
)
RESOURCES_TWICE: Final = Rule(
    "resource fields should not be set in both rayStartParams and Resources for {group} group; please use only one",
    "Move num-cpus, num-gpus, memory and resources from rayStartParams to resources.",
)
LABELS_IN_PARAMS: Final = Rule(
    "rayStartParams['labels'] is not supported for {group} group; please use the top-level Labels field instead",
    "Move the labels from rayStartParams to the group's labels.",
)
LABEL_KEY: Final = Rule(
    "invalid label key for {group} group: '{key}', error: {fault}",
    "Rename the label {key!r} to a Kubernetes label key.",
)
LABEL_VALUE: Final = Rule(
    "invalid label value for key '{key}' in {group} group: '{value}', error: {fault}",
    "Give the label {key!r} a Kubernetes label value.",
)
REPLICAS_UNSET: Final = Rule(
    "worker group {group} must set both minReplicas and maxReplicas when autoscaling is disabled",
    "Set minReplicas and maxReplicas of the group.",
)
MIN_NEGATIVE: Final = Rule("worker group {group} has negative minReplicas {count}", "Set minReplicas to 0 or more.")
MAX_NEGATIVE: Final = Rule("worker group {group} has negative maxReplicas {count}", "Set maxReplicas to 0 or more.")
MIN_ABOVE_MAX: Final = Rule(
    "worker group {group} has minReplicas {low} greater than maxReplicas {high}",
    "Lower minReplicas to at most {high}, or raise maxReplicas to at least {low}.",
)
IDLE_NEGATIVE: Final = Rule(
    "worker group {group}: idleTimeoutSeconds must be non-negative, got {count}",
    "Set idleTimeoutSeconds to 0 or more, or leave it out.",
)
IDLE_NEEDS_V2: Final = Rule(
    "worker group {group}: idleTimeoutSeconds is set, but autoscaler v2 is not enabled. "
    "Please set .spec.autoscalerOptions.version to 'v2' (or set RAY_enable_autoscaler_v2 environment variable to "
    "'true' in the head pod if using KubeRay < 1.4.0)",
    "Set autoscalerOptions.version to v2, or use autoscalerOptions.idleTimeoutSeconds for all groups.",
)
PRIORITY_WITHOUT_VERSION: Final = Rule(
    "worker group {group}: priority is set, but RayVersion was not specified. Ray version 2.56.0 or later is required",
    "Set rayVersion to the Ray version of the images, 2.56.0 or later.",
)
PRIORITY_VERSION_UNREADABLE: Final = Rule(
    "worker group {group}: priority is set, but RayVersion format is invalid: {version}, {fault}",
    "Write rayVersion as numbers, for example 2.56.0.",
)
PRIORITY_VERSION_OLD: Final = Rule(
    "worker group {group}: priority is set, but minimum Ray version is 2.56.0, got {version}",
    "Use Ray 2.56.0 or later, or leave priority out.",
)
PRIORITY_NEEDS_V2: Final = Rule(
    "worker group {group}: priority is set to {count}, but autoscaler v2 is not enabled. "
    "Priority is only supported with autoscaler v2 enabled",
    "Set autoscalerOptions.version to v2, or leave priority out.",
)
NAME_TWICE: Final = Rule("worker group names must be unique", "Give each worker group a groupName of its own.")


class _Node(msgspec.Struct, frozen=True):
    name: str
    path: str
    params: Mapping[str, str]
    resources: Mapping[str, str]
    labels: Mapping[str, str]


def head_problems(view: ClusterView) -> Iterator[Problem]:
    """Yield what is wrong with the head group."""
    if not view.head.containers:
        yield HEAD_WITHOUT_CONTAINER.at(f"{view.head_path}.template.spec.containers")
    head = view.spec.head_group_spec
    yield from _node_problems(
        _Node(HEAD_NAME, view.head_path, params=head.ray_start_params, resources=head.resources, labels=head.labels)
    )


def worker_problems(view: ClusterView) -> Iterator[Problem]:
    """Yield what is wrong with the worker groups, one group after the other."""
    for group in view.groups:
        yield from _group_problems(view, group)


def duplicate_problems(view: ClusterView) -> Iterator[Problem]:
    """Yield the groups whose name another group has already; KubeRay refuses them in its webhook only."""
    names = [group.name for group in view.groups]
    for index, group in enumerate(view.groups):
        if group.name in names[:index]:
            yield NAME_TWICE.at(group.path)


def _group_problems(view: ClusterView, group: Group) -> Iterator[Problem]:
    if not group.pod.containers:
        yield WORKER_WITHOUT_CONTAINER.at(f"{group.path}.template.spec.containers")
    yield from _replica_problems(view, group)
    spec = group.spec
    yield from _node_problems(
        _Node(group.name, group.path, params=spec.ray_start_params, resources=spec.resources, labels=spec.labels)
    )
    yield from _idle_problems(view, group)
    if spec.priority:
        yield from _priority_problems(view, group, spec.priority)


def _replica_problems(view: ClusterView, group: Group) -> Iterator[Problem]:
    low, high = group.spec.min_replicas, group.spec.max_replicas
    if not view.autoscaling and (low is None or high is None):
        yield REPLICAS_UNSET.at(f"{group.path}.{'minReplicas' if low is None else 'maxReplicas'}", group=group.name)
    if low is not None and low < 0:
        yield MIN_NEGATIVE.at(f"{group.path}.minReplicas", group=group.name, count=low)
    if high is not None and high < 0:
        yield MAX_NEGATIVE.at(f"{group.path}.maxReplicas", group=group.name, count=high)
    if low is not None and high is not None and low > high:
        yield MIN_ABOVE_MAX.at(f"{group.path}.minReplicas", group=group.name, low=low, high=high)


def _node_problems(node: _Node) -> Iterator[Problem]:
    if node.resources and any(node.params.get(param) for param in _RESOURCE_PARAMS):
        yield RESOURCES_TWICE.at(f"{node.path}.resources", group=node.name)
    if "labels" in node.params:
        yield LABELS_IN_PARAMS.at(f"{node.path}.rayStartParams[labels]", group=node.name)
    yield from joined(list(_label_problems(node)), f"{node.path}.labels", "; ")


def _label_problems(node: _Node) -> Iterator[Problem]:
    for key, value in node.labels.items():
        path = f"{node.path}.labels[{key}]"
        for fault in qualified_name(key):
            yield LABEL_KEY.at(path, group=node.name, key=key, fault=fault)
        for fault in label_value(value):
            yield LABEL_VALUE.at(path, group=node.name, key=key, value=value, fault=fault)


def _idle_problems(view: ClusterView, group: Group) -> Iterator[Problem]:
    seconds = group.spec.idle_timeout_seconds
    path = f"{group.path}.idleTimeoutSeconds"
    if seconds is not None and seconds < 0:
        yield IDLE_NEGATIVE.at(path, group=group.name, count=seconds)
    elif seconds is not None and not view.v2_chosen:
        yield IDLE_NEEDS_V2.at(path, group=group.name)


def _priority_problems(view: ClusterView, group: Group, priority: int) -> Iterator[Problem]:
    yield from _priority_version_problems(view, group)
    if not view.v2_chosen:
        yield PRIORITY_NEEDS_V2.at(f"{group.path}.priority", group=group.name, count=priority)


def _priority_version_problems(view: ClusterView, group: Group) -> Iterator[Problem]:
    version, path = view.spec.ray_version, f"{view.path}.rayVersion"
    if not version:
        yield PRIORITY_WITHOUT_VERSION.at(path, group=group.name)
        return
    try:
        if parse_version(version) < WORKER_PRIORITY:
            yield PRIORITY_VERSION_OLD.at(path, group=group.name, version=version)
    except GoError as fault:
        yield PRIORITY_VERSION_UNREADABLE.at(path, group=group.name, version=version, fault=fault)
