"""What must hold at the end of a soak: of the world as the API server lists it, and of what each job came to; pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tests.chaos.soak_plan import Plan, Wanted, expected_end, expected_submissions

Obj = Mapping[str, Any]


class Fate(msgspec.Struct, frozen=True):
    """What was last seen of a job."""

    deployment: str = ""
    gone: bool = False


def job_complaints(plan: Plan, fates: Mapping[str, Fate], submitted: Mapping[str, int]) -> list[str]:
    """What is wrong with the jobs that were ever made."""
    return [said for name in plan.jobs for said in _of_job(plan, name, fates.get(name, Fate()), submitted)]


def cluster_complaints(
    wanted: Mapping[str, Wanted], clusters: Sequence[Obj], pods: Sequence[Obj], services: Sequence[Obj]
) -> list[str]:
    """What is wrong with the clusters, their pods and their Services; those of jobs that delete theirs must be gone."""
    present = {name for name, one in wanted.items() if one.present}
    found = {one["metadata"]["name"]: one for one in clusters}
    complaints = [f"RayCluster {name} is missing" for name in sorted(present - found.keys())]
    complaints += [f"RayCluster {name} is there, though nobody wants it" for name in sorted(found.keys() - present)]
    owners = {one["metadata"]["uid"]: name for name, one in found.items()}
    pods_of, services_of = _by_owner(pods, owners), _by_owner(services, owners)
    complaints += [f"{count} pods of nobody" for owner, count in pods_of.items() if owner is None]
    complaints += [f"{count} Services of nobody" for owner, count in services_of.items() if owner is None]
    for name in sorted(present & found.keys()):
        complaints += _of_cluster(name, wanted[name], found[name], pods=pods_of[name], services=services_of[name])
    return complaints


def _of_job(plan: Plan, name: str, fate: Fate, submitted: Mapping[str, int]) -> Iterator[str]:
    sort, times = plan.jobs[name], submitted.get(name, 0)
    most = expected_submissions(sort)
    if times > most or (times < most and name not in plan.withdrawn):
        yield f"RayJob {name} ({sort}) was submitted {times} times, not {most}"
    if fate.deployment != expected_end(sort) and name not in plan.withdrawn:
        yield f"RayJob {name} ({sort}) is {fate.deployment or 'new'}, not {expected_end(sort)}"
    if fate.gone != plan.goes(name):
        yield f"RayJob {name} ({sort}) is {'gone' if fate.gone else 'still there'}"


def _of_cluster(name: str, wanted: Wanted, found: Obj, *, pods: int, services: int) -> Iterator[str]:
    status = found.get("status", {})
    state = "suspended" if wanted.suspended else "ready"
    if pods != wanted.pods:
        yield f"RayCluster {name} has {pods} pods, not {wanted.pods}"
    if status.get("state") != state:
        yield f"RayCluster {name} is {status.get('state')}, not {state}"
    if not wanted.suspended and status.get("readyWorkerReplicas", 0) != wanted.replicas:
        yield f"RayCluster {name} tells of {status.get('readyWorkerReplicas', 0)} workers, not {wanted.replicas}"
    if not services:
        yield f"RayCluster {name} has no Service"


def _by_owner(objects: Sequence[Obj], owners: Mapping[str, str]) -> Counter[str | None]:
    """How many objects each cluster owns; None owns those of no cluster that is there."""
    uids = [[one["uid"] for one in found["metadata"].get("ownerReferences", [])] for found in objects]
    return Counter(next((owners[uid] for uid in mine if uid in owners), None) for mine in uids)
