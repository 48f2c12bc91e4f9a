"""What is under way among Ray's objects, and what of it should come to its end before a move. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from manta_cli.findings import Finding, State
from manta_cli.migration.found import RayObject
from manta_common.api.names import MANAGED_BY_KUBERAY

ENDED: Final = frozenset({"Complete", "Failed", "ValidationFailed"})
SHORT_STATES: Final = frozenset({"Suspending", "Retrying"})
OURS: Final = (None, "", MANAGED_BY_KUBERAY)
NAMED: Final = 3  # as many names are shown


def findings(objects: Mapping[str, Sequence[RayObject]]) -> Iterator[Finding]:
    """One line for each kind of thing that is under way among objects, which come by their plural."""
    yield from _jobs(objects.get("rayjobs", ()))
    yield from _services(objects.get("rayservices", ()))
    yield from _clusters(objects.get("rayclusters", ()))
    yield from _schedules(objects.get("raycronjobs", ()))
    everything = [one for kind in objects.values() for one in kind]
    yield from _line(
        "objects that are being deleted",
        "warn",
        [one for one in everything if one.metadata.deletion_timestamp],
        "Manta ends what their finalizers wait for; wait until they are gone if you can",
    )
    yield from _line(
        "objects of another controller",
        "ok",
        [one for one in everything if one.spec.managed_by not in OURS],
        "spec.managedBy names it; Manta leaves them alone, as KubeRay does",
    )


def _jobs(jobs: Sequence[RayObject]) -> Iterator[Finding]:
    def state(job: RayObject) -> str:
        return job.status.job_deployment_status or ""

    live = [job for job in jobs if state(job) not in ENDED]
    suspended = [job for job in live if job.spec.suspend]
    short = [job for job in live if state(job) in SHORT_STATES]
    rest = [job for job in live if job not in suspended and job not in short]
    yield Finding(check="RayJobs", state="ok", found=f"{len(jobs)}, {len(jobs) - len(live)} of them ended")
    yield from _line("RayJobs that run or wait", "ok", rest, "they go on: what was submitted is known by its id")
    yield from _line("suspended RayJobs", "ok", suspended, "they stay suspended until somebody, or Kueue, resumes them")
    wait = "a step of a few seconds: wait until `kubectl get rayjobs -A` shows another state"
    yield from _line("RayJobs that are being suspended or tried again", "fail", short, wait)


def _services(services: Sequence[RayObject]) -> Iterator[Finding]:
    upgrading = [one for one in services if one.status.holds("UpgradeInProgress")]
    yield Finding(check="RayServices", state="ok", found=str(len(services)))
    wait = "wait for the end: kubectl wait --for=condition=UpgradeInProgress=false rayservice --all -A --timeout=1h"
    yield from _line("RayServices whose upgrade runs", "fail", upgrading, wait)


def _clusters(clusters: Sequence[RayObject]) -> Iterator[Finding]:
    yield Finding(check="RayClusters", state="ok", found=str(len(clusters)))
    suspending = [one for one in clusters if one.status.holds("RayClusterSuspending")]
    wait = "wait until `kubectl get rayclusters -A` says suspended"
    yield from _line("RayClusters that are being suspended", "fail", suspending, wait)
    scaled = [one for one in clusters if one.spec.enable_in_tree_autoscaling]
    yield from _line("RayClusters with Ray's autoscaler", "ok", scaled, "it works on; its account and role stay")


def _schedules(schedules: Sequence[RayObject]) -> Iterator[Finding]:
    if schedules:
        do = "of ticks missed while no operator runs, the last one is made up for"
        yield from _line("RayCronJobs", "ok", schedules, do)


def _line(check: str, state: State, objects: Sequence[RayObject], do: str) -> Iterator[Finding]:
    if objects:
        names = ", ".join(str(one.metadata.key) for one in objects[:NAMED])
        more = f" and {len(objects) - NAMED} more" if len(objects) > NAMED else ""
        yield Finding(check=check, state=state, found=f"{len(objects)}: {names}{more}", do=do)
