"""Rules for a cluster's network policy."""

from collections.abc import Iterator
from typing import Final

from manta_common.api.rayoptions import NetworkPolicyConfig, NetworkPolicyGroup, NetworkPolicyRules
from manta_common.validation.problem import Problem, Rule
from manta_common.validation.syntax import as_go_list, dns1123_label
from manta_common.validation.view import ClusterView

GATE: Final = Rule(
    "spec.networkPolicy requires the RayClusterNetworkPolicy feature gate to be enabled",
    "Start the operator with the feature gate RayClusterNetworkPolicy=true, or leave networkPolicy out.",
)
INGRESS_OPEN: Final = Rule(
    'networkPolicy.{place}.ingressRules cannot be set when mode is "DenyAllEgress" (ingress is not restricted)',
    "Remove the ingressRules, or use the mode DenyAll.",
)
EGRESS_OPEN: Final = Rule(
    'networkPolicy.{place}.egressRules cannot be set when mode is "DenyAllIngress" (egress is not restricted)',
    "Remove the egressRules, or use the mode DenyAll.",
)
GROUP_NAME: Final = Rule(
    'worker group name "{group}" must be a valid DNS1123 label when networkPolicy is enabled '
    "(it is embedded in the NetworkPolicy name): {fault}",
    "Rename the group with lower case letters, digits and hyphens.",
)
GROUP_UNKNOWN: Final = Rule(
    'networkPolicy.workerGroups["{group}"] does not match any group name in workerGroupSpecs',
    "Name a group of workerGroupSpecs, or remove the entry.",
)


def problems(view: ClusterView) -> Iterator[Problem]:
    """Yield what is wrong with a cluster's network policy."""
    policy, path = view.spec.network_policy, f"{view.path}.networkPolicy"
    if policy is None:
        return
    if not view.gates.network_policy:
        yield GATE.at(path)
    for place, rules in (("head", policy.head), ("worker", policy.worker)):
        if rules is not None:
            yield from _idle_rules(policy, rules, place=place, path=f"{path}.{place}")
    yield from _group_names(view)
    for index, group in enumerate(policy.worker_groups):
        yield from _group(view, policy, group=group, path=f"{path}.workerGroups[{index}]")


def _idle_rules(
    policy: NetworkPolicyConfig, rules: NetworkPolicyRules | NetworkPolicyGroup, *, place: str, path: str
) -> Iterator[Problem]:
    if policy.mode == "DenyAllEgress" and rules.ingress_rules:
        yield INGRESS_OPEN.at(f"{path}.ingressRules", place=place)
    if policy.mode == "DenyAllIngress" and rules.egress_rules:
        yield EGRESS_OPEN.at(f"{path}.egressRules", place=place)


def _group_names(view: ClusterView) -> Iterator[Problem]:
    for group in view.groups:
        faults = dns1123_label(group.name)
        if faults:
            yield GROUP_NAME.at(f"{group.path}.groupName", group=group.name, fault=as_go_list(faults))


def _group(
    view: ClusterView, policy: NetworkPolicyConfig, *, group: NetworkPolicyGroup, path: str
) -> Iterator[Problem]:
    yield from _idle_rules(policy, group, place=f'workerGroups["{group.group_name}"]', path=path)
    if group.group_name not in {known.name for known in view.groups}:
        yield GROUP_UNKNOWN.at(f"{path}.groupName", group=group.group_name)
