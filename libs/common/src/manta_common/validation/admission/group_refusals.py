"""The rules for groups, in CEL."""

from typing import Final

from manta_common.validation import groups
from manta_common.validation.admission.cel import Refusal, fullmatch, text, texts
from manta_common.validation.problem import Rule
from manta_common.validation.syntax import (
    DNS1123_SUBDOMAIN,
    DNS1123_SUBDOMAIN_RULE,
    LABEL_VALUE,
    LABEL_VALUE_RULE,
    MAX_LABEL,
    MAX_SUBDOMAIN,
    NAME_PART,
    NAME_RULE,
    QUALIFIED_NAME_RULE,
)

GROUPS: Final = "variables.groups"
_RESOURCE_PARAMS: Final = texts(("num-cpus", "num-gpus", "memory", "resources"))
_NO_CONTAINERS: Final = "size({pod}.?containers.orValue([])) == 0"
_PRIORITY: Final = "g.?priority.orValue(0) != 0"
_VERSION: Final = "variables.rayVersion"


def older_than(minor: int) -> str:
    """Return the expression that tells whether a readable Ray version is before 2.<minor>."""
    numbers = "variables.rayVersionNumbers"
    return (
        f"variables.rayVersionFault == '' && ({numbers}[0] < 2 || ({numbers}[0] == 2 && {numbers}[1] < {minor}))"
        f" && {_VERSION} != ''"
    )


def _node(params: str, resources: str, labels: str) -> dict[Rule, str]:
    some_params = f"{_RESOURCE_PARAMS}.exists(p, {params}[?p].orValue('') != '')"
    return {
        groups.RESOURCES_TWICE: f"size({resources}) > 0 && {some_params}",
        groups.LABELS_IN_PARAMS: f"'labels' in {params}",
        groups.LABEL_KEY: f"{labels}.exists(k, {_key_fault()} != '')",
        groups.LABEL_VALUE: f"{labels}.exists(k, {_value_fault(f'{labels}[k]')} != '')",
    }


def _key_fault() -> str:
    parts, prefix, name = "k.split('/')", "k.split('/')[0]", "k.split('/')[size(k.split('/')) - 1]"
    faults = {
        f"size({parts}) > 2": QUALIFIED_NAME_RULE,
        f"size({parts}) == 2 && {prefix} == ''": "prefix part must be non-empty",
        f"size({parts}) == 2 && size({prefix}) > {MAX_SUBDOMAIN}": _too_long("prefix", MAX_SUBDOMAIN),
        f"size({parts}) == 2 && !{fullmatch(prefix, DNS1123_SUBDOMAIN)}": f"prefix part {DNS1123_SUBDOMAIN_RULE}",
        f"{name} == ''": "name part must be non-empty",
        f"size({name}) > {MAX_LABEL}": _too_long("name", MAX_LABEL),
        f"!{fullmatch(name, NAME_PART)}": f"name part {NAME_RULE}",
    }
    return _first_fault(faults)


def _too_long(part: str, length: int) -> str:
    return f"{part} part must be no more than {length} bytes"


def _value_fault(value: str) -> str:
    return _first_fault(
        {
            f"size({value}) > {MAX_LABEL}": f"must be no more than {MAX_LABEL} bytes",
            f"!{fullmatch(value, LABEL_VALUE)}": LABEL_VALUE_RULE,
        }
    )


def _first_fault(faults: dict[str, str]) -> str:
    return f"({' : '.join(f'{bad} ? {text(fault)}' for bad, fault in faults.items())} : '')"


def _label_holes(group: str, labels: str) -> dict[Rule, dict[str, str]]:
    key = f"{labels}.filter(k, {_key_fault()} != '')[0]"
    value_key = f"{labels}.filter(k, {_value_fault(f'{labels}[k]')} != '')[0]"
    value = f"{labels}[{value_key}]"
    return {
        groups.RESOURCES_TWICE: {"group": group},
        groups.LABELS_IN_PARAMS: {"group": group},
        groups.LABEL_KEY: {"group": group, "key": key, "fault": f"[{key}].map(k, {_key_fault()})[0]"},
        groups.LABEL_VALUE: {"group": group, "key": value_key, "value": value, "fault": _value_fault(value)},
    }


def _head() -> tuple[Refusal, ...]:
    resources, labels = "variables.head.?resources.orValue({})", "variables.head.?labels.orValue({})"
    rules, holes = _node("variables.headParams", resources, labels), _label_holes(text(groups.HEAD_NAME), labels)
    none = f"variables.hasCluster && {_NO_CONTAINERS.format(pod='variables.headPod')}"
    return (
        Refusal(groups.HEAD_WITHOUT_CONTAINER, none),
        *(Refusal(rule, bad, holes=holes[rule]) for rule, bad in rules.items()),
    )


def _workers() -> tuple[Refusal, ...]:
    params, labels = "g.?rayStartParams.orValue({})", "g.?labels.orValue({})"
    rules, holes = _node(params, "g.?resources.orValue({})", labels), _label_holes("g.groupName", labels)
    none = _NO_CONTAINERS.format(pod="g.?template.?spec.orValue({})")
    return (
        Refusal(groups.WORKER_WITHOUT_CONTAINER, none, each=GROUPS),
        *_replicas(),
        *(Refusal(rule, bad, each=GROUPS, holes=holes[rule]) for rule, bad in rules.items()),
        *_idle(),
        *_priority(),
    )


def _replicas() -> tuple[Refusal, ...]:
    group = {"group": "g.groupName"}
    low, high = {"low": "g.minReplicas"}, {"high": "g.maxReplicas"}
    return (
        Refusal(groups.MIN_NEGATIVE, "g.minReplicas < 0", each=GROUPS, holes={**group, "count": "g.minReplicas"}),
        Refusal(groups.MAX_NEGATIVE, "g.maxReplicas < 0", each=GROUPS, holes={**group, "count": "g.maxReplicas"}),
        Refusal(groups.MIN_ABOVE_MAX, "g.minReplicas > g.maxReplicas", each=GROUPS, holes={**group, **low, **high}),
    )


def _idle() -> tuple[Refusal, ...]:
    seconds, group = "g.?idleTimeoutSeconds", {"group": "g.groupName"}
    negative = f"{seconds}.orValue(0) < 0"
    return (
        Refusal(groups.IDLE_NEGATIVE, negative, each=GROUPS, holes={**group, "count": "g.idleTimeoutSeconds"}),
        Refusal(groups.IDLE_NEEDS_V2, f"{seconds}.hasValue() && !variables.v2", each=GROUPS, holes=group),
    )


def _priority() -> tuple[Refusal, ...]:
    group, version = {"group": "g.groupName"}, {"version": _VERSION}
    unreadable = f"{_PRIORITY} && {_VERSION} != '' && variables.rayVersionFault != ''"
    fault = {"fault": "variables.rayVersionFault"}
    return (
        Refusal(groups.PRIORITY_WITHOUT_VERSION, f"{_PRIORITY} && {_VERSION} == ''", each=GROUPS, holes=group),
        Refusal(groups.PRIORITY_VERSION_UNREADABLE, unreadable, each=GROUPS, holes={**group, **version, **fault}),
        Refusal(
            groups.PRIORITY_VERSION_OLD, f"{_PRIORITY} && {older_than(56)}", each=GROUPS, holes={**group, **version}
        ),
        Refusal(
            groups.PRIORITY_NEEDS_V2,
            f"{_PRIORITY} && !variables.v2",
            each=GROUPS,
            holes={**group, "count": "g.priority"},
        ),
    )


GROUP_REFUSALS: Final = (*_head(), *_workers())
UNIQUE_NAMES: Final = Refusal(
    groups.NAME_TWICE, f"{GROUPS}.filter(o, o.groupName == g.groupName).size() > 1", each=GROUPS
)
