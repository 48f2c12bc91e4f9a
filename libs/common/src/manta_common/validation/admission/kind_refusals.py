"""The rules of each kind, in CEL: its name, what is its own, and what it shares."""

from typing import Final

from manta_common.api import annotations, labels
from manta_common.validation import cluster, cron_job, job, metadata, service
from manta_common.validation.admission.cel import Refusal, fullmatch, retold, text, texts
from manta_common.validation.admission.group_refusals import GROUP_REFUSALS, UNIQUE_NAMES
from manta_common.validation.admission.job_refusals import JOB_REFUSALS, TEMPLATE_REFUSALS
from manta_common.validation.admission.option_refusals import K8S_TOKEN_REFUSALS, OPTION_REFUSALS
from manta_common.validation.syntax import DNS1035_LABEL, DNS1035_RULE

_TIMEOUT: Final = f"variables.annotations[?{text(annotations.INITIALIZING_TIMEOUT)}].orValue('')"
_NUMBER: Final = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_DURATION: Final = rf"[-+]?(0|({_NUMBER}(ns|us|µs|μs|ms|s|m|h))+)"
_NOT_POSITIVE: Final = r"-.*|[^1-9]*"
_DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


def _length(kind: str) -> Refusal:
    length = metadata.MAX_NAME[kind]
    holes = {"kind": text(kind), "length": str(length)}
    return Refusal(metadata.TOO_LONG, f"size(object.metadata.name) > {length}", holes=holes)


def _name(kind: str) -> tuple[Refusal, ...]:
    holes = {"kind": text(kind), "fault": text(f"[{DNS1035_RULE}]")}
    return _length(kind), Refusal(
        metadata.NOT_A_LABEL, f"!{fullmatch('object.metadata.name', DNS1035_LABEL)}", holes=holes
    )


def _timeout() -> tuple[Refusal, ...]:
    is_duration, is_number = fullmatch(_TIMEOUT, _DURATION), fullmatch(_TIMEOUT, "[-+]?[0-9]+")
    not_positive, given = fullmatch(_TIMEOUT, _NOT_POSITIVE), f"{_TIMEOUT} != ''"
    rules = {
        service.TIMEOUT_DURATION: f"{given} && {is_duration} && {not_positive}",
        service.TIMEOUT_SECONDS: f"{given} && !{is_duration} && {is_number} && {not_positive}",
        service.TIMEOUT_UNREADABLE: f"{given} && !{is_duration} && !{is_number}",
    }
    return tuple(Refusal(rule, bad, holes={"value": _TIMEOUT}) for rule, bad in rules.items())


def _upgrade() -> tuple[Refusal, ...]:
    strategy = "object.spec.?upgradeStrategy"
    chosen, options = f"{strategy}.?type.orValue('')", f"{strategy}.?clusterUpgradeOptions"
    incremental = f"{chosen} == {text(service.INCREMENTAL)}"
    surge, step = f"{options}.?maxSurgePercent.orValue(100)", f"{options}.?stepSizePercent.orValue(0)"
    unknown = f"{strategy}.?type.hasValue() && !({chosen} in {texts(service.UPGRADE_TYPES)})"
    named = "variables.head.?headService.?metadata.?name.orValue('') != ''"
    rules = {
        service.UPGRADE_AUTOSCALING: "!variables.autoscaling",
        service.UPGRADE_OPTIONS: f"!{options}.hasValue()",
        service.MAX_SURGE: f"{surge} < 0 || {surge} > 100",
        service.STEP_SIZE: f"{step} < 0 || {step} > 100",
        service.STEP_ABOVE_SURGE: f"{step} > {surge}",
        service.INTERVAL: f"{options}.?intervalSeconds.orValue(1) <= 0",
        service.GATEWAY_CLASS: f"{options}.?gatewayClassName.orValue('-') == ''",
    }
    return (
        Refusal(service.HEAD_SERVICE_NAMED, named),
        Refusal(service.UPGRADE_TYPE, unknown, holes={"value": chosen}),
        *(Refusal(rule, f"{incremental} && ({bad})") for rule, bad in rules.items()),
    )


def _schedule() -> tuple[Refusal, ...]:
    schedule = "object.spec.schedule"
    fields, word = f"{schedule}.findAll('[^\\\\s]+')", f"{schedule}.startsWith('@')"
    known = f"{schedule} in {texts(_DESCRIPTORS)} || {schedule}.startsWith('@every ')"
    count = f"'expected exactly 5 fields, found ' + string(size({fields})) + ': [' + {fields}.join(' ') + ']'"
    zone = f"{schedule}.contains('TZ')"
    return (
        Refusal(cron_job.ZONE_IN_SCHEDULE, zone),
        Refusal(cron_job.SCHEDULE, f"{schedule} == ''", holes={"fault": text("empty spec string")}),
        Refusal(
            cron_job.SCHEDULE,
            f"!{zone} && {schedule} != '' && !{word} && size({fields}) != 5",
            holes={"fault": count},
        ),
        Refusal(
            cron_job.SCHEDULE,
            f"!{zone} && {word} && !({known})",
            holes={"fault": f"'unrecognized descriptor: ' + {schedule}"},
        ),
    )


def _child_upgrade() -> Refusal:
    origin = f"object.metadata.?labels[?{text(labels.ORIGINATED_FROM_KIND)}].orValue('')"
    bad = f"object.?spec.?upgradeStrategy.?type.hasValue() && {origin} in ['RayJob', 'RayService']"
    return Refusal(cluster.UPGRADE_OF_CHILD, bad, holes={"kind": origin})


KIND_REFUSALS: Final = {
    "RayCluster": (
        *_name("RayCluster"),
        *GROUP_REFUSALS,
        *OPTION_REFUSALS,
        *K8S_TOKEN_REFUSALS,
        _child_upgrade(),
        UNIQUE_NAMES,
    ),
    "RayJob": (*retold(_name("RayJob"), job.METADATA_PREFIX), *JOB_REFUSALS),
    "RayService": (
        *retold(_name("RayService"), service.METADATA_PREFIX),
        *retold(_timeout(), service.METADATA_PREFIX + service.ANNOTATIONS_PREFIX),
        Refusal(service.K8S_TOKENS, "variables.k8sTokenAuth", prefix=service.SPEC_PREFIX),
        *retold((*GROUP_REFUSALS, *OPTION_REFUSALS, *_upgrade()), service.SPEC_PREFIX),
    ),
    "RayCronJob": (_length("RayCronJob"), *_schedule(), *retold(TEMPLATE_REFUSALS, cron_job.TEMPLATE_PREFIX)),
}
