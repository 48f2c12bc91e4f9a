"""All rules for a RayService, in KubeRay's order."""

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import UNSET

from manta_common.api import annotations
from manta_common.api.gates import Gates
from manta_common.api.rayservice import ClusterUpgradeOptions, RayService, RayServiceSpec
from manta_common.gotext import GoError, parse_duration, parse_int
from manta_common.validation import auth, cluster, metadata
from manta_common.validation.problem import Problem, Rule, retold
from manta_common.validation.view import cluster_view

METADATA_PREFIX: Final = "The RayService metadata is invalid: "
ANNOTATIONS_PREFIX: Final = "RayService annotations is invalid: "
SPEC_PREFIX: Final = "The RayService spec is invalid: "
INCREMENTAL: Final = "NewClusterWithIncrementalUpgrade"
UPGRADE_TYPES: Final = (INCREMENTAL, "NewCluster", "None")

TIMEOUT_DURATION: Final = Rule(
    "annotation ray.io/initializing-timeout must be a positive duration, got: {value}",
    "Write a time longer than nothing, for example 5m.",
)
TIMEOUT_SECONDS: Final = Rule(
    "annotation ray.io/initializing-timeout must be a positive integer (seconds), got: {value}",
    "Write a number of seconds above 0, for example 300.",
)
TIMEOUT_UNREADABLE: Final = Rule(
    "annotation ray.io/initializing-timeout has invalid format: {value}. "
    "Expected Go duration format (e.g., '5m', '1h') or positive integer seconds",
    "Write a duration such as 5m or 1h30m, or a number of seconds.",
)
K8S_TOKENS: Final = Rule(
    "K8s token auth mode is currently not supported for RayService", "Leave enableK8sTokenAuth out."
)
HEAD_SERVICE_NAMED: Final = Rule(
    "spec.rayClusterConfig.headGroupSpec.headService.metadata.name should not be set",
    "Leave the name out: each new cluster needs a head Service of its own.",
)
UPGRADE_TYPE: Final = Rule(
    "Spec.UpgradeStrategy.Type value {value} is invalid, valid options are NewClusterWithIncrementalUpgrade, "
    "NewCluster, or None",
    "Use one of the three, or leave upgradeStrategy.type out.",
)
DELAY_NEGATIVE: Final = Rule(
    "Spec.RayClusterDeletionDelaySeconds should be a non-negative integer, got {count}",
    "Set rayClusterDeletionDelaySeconds to 0 or more, or leave it out for 60.",
)
UPGRADE_AUTOSCALING: Final = Rule(
    "Ray Autoscaler is required for NewClusterWithIncrementalUpgrade", "Set enableInTreeAutoscaling to true."
)
UPGRADE_OPTIONS: Final = Rule(
    "ClusterUpgradeOptions are required for NewClusterWithIncrementalUpgrade",
    "Set upgradeStrategy.clusterUpgradeOptions.",
)
MAX_SURGE: Final = Rule("maxSurgePercent must be between 0 and 100", "Set maxSurgePercent from 0 to 100.")
STEP_SIZE: Final = Rule("stepSizePercent must be between 0 and 100", "Set stepSizePercent from 0 to 100.")
STEP_ABOVE_SURGE: Final = Rule(
    "stepSizePercent must be less than or equal to maxSurgePercent",
    "Lower stepSizePercent, or raise maxSurgePercent.",
)
INTERVAL: Final = Rule("intervalSeconds must be greater than 0", "Set intervalSeconds to 1 or more.")
GATEWAY_CLASS: Final = Rule(
    "gatewayClassName is required for NewClusterWithIncrementalUpgrade",
    "Name a GatewayClass of the Kubernetes cluster in gatewayClassName.",
)


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _HeadService(msgspec.Struct, frozen=True):
    metadata: _Named = _Named()


def validate_service(service: RayService, gates: Gates) -> list[Problem]:
    """Return what is wrong with a RayService; the first message is the one that KubeRay would report."""
    return [*metadata_problems(service), *spec_problems(service, gates)]


def metadata_problems(service: RayService) -> Iterator[Problem]:
    """Yield what is wrong with a RayService's name and annotations."""
    yield from retold(metadata.name_problems("RayService", service.metadata.name), METADATA_PREFIX)
    timeout = service.metadata.annotations.get(annotations.INITIALIZING_TIMEOUT, "")
    yield from retold(_timeout(timeout), f"{METADATA_PREFIX}{ANNOTATIONS_PREFIX}")


def spec_problems(service: RayService, gates: Gates) -> Iterator[Problem]:
    """Yield what is wrong with a RayService's spec."""
    yield from retold(_spec(service, gates), SPEC_PREFIX)


def is_incremental(spec: RayServiceSpec, gates: Gates) -> bool:
    """Tell whether traffic moves step by step in an upgrade; without the gate it never does."""
    return gates.incremental_upgrade and spec.upgrade_strategy is not None and spec.upgrade_strategy.type == INCREMENTAL


def _timeout(value: str) -> Iterator[Problem]:
    rule = _timeout_rule(value) if value else None
    if rule:
        yield rule.at(f"metadata.annotations[{annotations.INITIALIZING_TIMEOUT}]", value=value)


def _timeout_rule(value: str) -> Rule | None:
    for parse, rule in ((parse_duration, TIMEOUT_DURATION), (parse_int, TIMEOUT_SECONDS)):
        try:
            return rule if parse(value) <= 0 else None
        except GoError:
            continue
    return TIMEOUT_UNREADABLE


def _spec(service: RayService, gates: Gates) -> Iterator[Problem]:
    spec, path = service.spec, "spec.rayClusterConfig"
    if auth.uses_k8s_tokens(spec.ray_cluster_config):
        yield K8S_TOKENS.at(f"{path}.authOptions.enableK8sTokenAuth")
    inner = cluster_view(spec.ray_cluster_config, annotations=service.metadata.annotations, gates=gates, path=path)
    yield from cluster.spec_problems(inner)
    if _names_head_service(spec):
        yield HEAD_SERVICE_NAMED.at(f"{path}.headGroupSpec.headService.metadata.name")
    yield from _upgrade(spec)
    if is_incremental(spec, gates):
        yield from _incremental(spec)


def _names_head_service(spec: RayServiceSpec) -> bool:
    raw = spec.ray_cluster_config.head_group_spec.head_service
    return raw is not UNSET and msgspec.json.decode(raw, type=_HeadService).metadata.name != ""


def _upgrade(spec: RayServiceSpec) -> Iterator[Problem]:
    chosen = spec.upgrade_strategy.type if spec.upgrade_strategy else None
    if chosen is not None and chosen not in UPGRADE_TYPES:
        yield UPGRADE_TYPE.at("spec.upgradeStrategy.type", value=chosen)
    delay = spec.ray_cluster_deletion_delay_seconds
    if delay is not None and delay < 0:
        yield DELAY_NEGATIVE.at("spec.rayClusterDeletionDelaySeconds", count=delay)


def _incremental(spec: RayServiceSpec) -> Iterator[Problem]:
    if spec.ray_cluster_config.enable_in_tree_autoscaling is not True:
        yield UPGRADE_AUTOSCALING.at("spec.rayClusterConfig.enableInTreeAutoscaling")
    options = spec.upgrade_strategy.cluster_upgrade_options if spec.upgrade_strategy else None
    path = "spec.upgradeStrategy.clusterUpgradeOptions"
    yield from [UPGRADE_OPTIONS.at(path)] if options is None else _pace(options, path)


def _pace(options: ClusterUpgradeOptions, path: str) -> Iterator[Problem]:
    # KubeRay relies on the CRD's default here and crashes without it.
    surge = 100 if options.max_surge_percent is None else options.max_surge_percent
    if not 0 <= surge <= 100:
        yield MAX_SURGE.at(f"{path}.maxSurgePercent")
    if not 0 <= options.step_size_percent <= 100:
        yield STEP_SIZE.at(f"{path}.stepSizePercent")
    if options.step_size_percent > surge:
        yield STEP_ABOVE_SURGE.at(f"{path}.stepSizePercent")
    if options.interval_seconds <= 0:
        yield INTERVAL.at(f"{path}.intervalSeconds")
    if not options.gateway_class_name:
        yield GATEWAY_CLASS.at(f"{path}.gatewayClassName")
