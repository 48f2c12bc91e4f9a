"""Rules for the names of Ray objects."""

from collections.abc import Iterator
from typing import Final

from manta_common.api.names import MAX_CLUSTER_NAME, MAX_CRON_JOB_NAME, MAX_JOB_NAME, MAX_SERVICE_NAME
from manta_common.validation.problem import Problem, Rule
from manta_common.validation.syntax import as_go_list, dns1035_label

PATH: Final = "metadata.name"
MAX_NAME: Final = {
    "RayCluster": MAX_CLUSTER_NAME,
    "RayJob": MAX_JOB_NAME,
    "RayService": MAX_SERVICE_NAME,
    "RayCronJob": MAX_CRON_JOB_NAME,
}

TOO_LONG: Final = Rule(
    "{kind} name should be no more than {length} characters",
    "Choose a name of at most {length} characters: longer ones are made from it.",
)
NOT_A_LABEL: Final = Rule(
    "{kind} name should be a valid DNS1035 label: {fault}",
    "Choose a name of lower case letters, digits and hyphens that begins with a letter and does not end in a hyphen.",
)


def length_problems(kind: str, name: str) -> Iterator[Problem]:
    """Yield a name that leaves no room for the names made from it."""
    if len(name.encode()) > MAX_NAME[kind]:
        yield TOO_LONG.at(PATH, kind=kind, length=MAX_NAME[kind])


def name_problems(kind: str, name: str) -> Iterator[Problem]:
    """Yield what is wrong with an object's name."""
    yield from length_problems(kind, name)
    faults = dns1035_label(name)
    if faults:
        yield NOT_A_LABEL.at(PATH, kind=kind, fault=as_go_list(faults))
