"""Rules for suspended groups and for Ray's autoscaler."""

from collections.abc import Iterator
from typing import Final

from manta_common.api import env
from manta_common.api.templates import env_vars
from manta_common.validation.problem import Problem, Rule
from manta_common.validation.view import ClusterView, restarts

SUSPEND_GATE: Final = Rule(
    "worker group {group} can be suspended only when the RayJobDeletionPolicy feature gate is enabled",
    "Start the operator with the feature gate RayJobDeletionPolicy=true, or take suspend away.",
)
V2_ENV_WITHOUT_AUTOSCALING: Final = Rule(
    "environment variable RAY_enable_autoscaler_v2 cannot be set to '{value}' when enableInTreeAutoscaling is false. "
    "Please set enableInTreeAutoscaling: true to use autoscaler v2",
    "Set enableInTreeAutoscaling to true, or remove the variable.",
)
SUSPEND_WITH_AUTOSCALING: Final = Rule(
    "worker group {group} cannot be suspended with Autoscaler enabled",
    "Take suspend away, or set enableInTreeAutoscaling to false.",
)
VERSION_TWICE: Final = Rule(
    "both .spec.autoscalerOptions.version and head Pod env var RAY_enable_autoscaler_v2 are set, "
    "please only use the former",
    "Remove the variable from the head's Ray container.",
)
V2_HEAD_RESTARTS: Final = Rule(
    "restartPolicy for head Pod should be Never or unset when using autoscaler V2",
    "Remove restartPolicy from the head's pod template.",
)
V2_WORKER_RESTARTS: Final = Rule(
    "restartPolicy for worker group {group} should be Never or unset when using autoscaler V2",
    "Remove restartPolicy from the group's pod template.",
)
IDLE_NEGATIVE: Final = Rule(
    "autoscalerOptions.idleTimeoutSeconds must be non-negative, got {count}",
    "Set idleTimeoutSeconds to 0 or more, or leave it out.",
)
RESERVED_ENV: Final = Rule(
    "autoscalerOptions.env must not contain KUBERAY_GEN_AUTOSCALER_START_CMD: it is managed by KubeRay and injected "
    "automatically into the autoscaler container",
    "Remove the variable; autoscalerOptions.command and args replace what the container runs.",
)
V1_WORKER_RESTARTS: Final = Rule(
    "restartPolicy for worker groups [{groups}] should be Never or unset when using autoscaler V1",
    "Remove restartPolicy from the pod templates of these groups.",
)


def problems(view: ClusterView) -> Iterator[Problem]:
    """Yield what is wrong with suspended groups and the autoscaler."""
    if not view.gates.deletion_policy:
        yield from _suspended(view, SUSPEND_GATE)
    if view.autoscaling:
        yield from _with_autoscaling(view)
    elif view.v2_by_env:
        value = view.head_env[env.ENABLE_AUTOSCALER_V2].value
        yield V2_ENV_WITHOUT_AUTOSCALING.at(view.head_variable(env.ENABLE_AUTOSCALER_V2), value=value)
    yield from _options(view)


def v1_warnings(view: ClusterView) -> Iterator[Problem]:
    """Yield what KubeRay warns of and goes on with: restarts in place under autoscaler v1."""
    groups = [group.name for group in view.groups if restarts(group.pod)]
    if view.autoscaling and view.autoscaler_version == "v1" and groups:
        yield V1_WORKER_RESTARTS.at(f"{view.path}.workerGroupSpecs", groups=", ".join(groups))


def _suspended(view: ClusterView, rule: Rule) -> Iterator[Problem]:
    for group in view.groups:
        if group.spec.suspend:
            yield rule.at(f"{group.path}.suspend", group=group.name)


def _with_autoscaling(view: ClusterView) -> Iterator[Problem]:
    yield from _suspended(view, SUSPEND_WITH_AUTOSCALING)
    if view.autoscaler_version is not None and env.ENABLE_AUTOSCALER_V2 in view.head_env:
        yield VERSION_TWICE.at(view.head_variable(env.ENABLE_AUTOSCALER_V2))
    if view.autoscaler_version == "v2":
        yield from _v2_restarts(view)


def _v2_restarts(view: ClusterView) -> Iterator[Problem]:
    if restarts(view.head):
        yield V2_HEAD_RESTARTS.at(f"{view.head_path}.template.spec.restartPolicy")
    for group in view.groups:
        if restarts(group.pod):
            yield V2_WORKER_RESTARTS.at(f"{group.path}.template.spec.restartPolicy", group=group.name)


def _options(view: ClusterView) -> Iterator[Problem]:
    options, path = view.spec.autoscaler_options, f"{view.path}.autoscalerOptions"
    if options is None:
        return
    if options.idle_timeout_seconds is not None and options.idle_timeout_seconds < 0:
        yield IDLE_NEGATIVE.at(f"{path}.idleTimeoutSeconds", count=options.idle_timeout_seconds)
    for index, variable in enumerate(env_vars(options.env)):
        if variable.name == env.AUTOSCALER_START_CMD:
            yield RESERVED_ENV.at(f"{path}.env[{index}]")
