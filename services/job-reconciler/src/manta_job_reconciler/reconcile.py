"""RayJobs on the plane: what marks a job, and one pass for it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from manta_common.api import labels
from manta_common.dashboard.client import Dashboards
from manta_common.feed import Source, View
from manta_common.keys import Key
from manta_common.kinds import JOB, RAYCLUSTER, SERVICE
from manta_common.kube.events import Recorder
from manta_common.kube.protocol import Kube, Scope
from manta_common.phases import Phase
from manta_common.plane import Item, Means, Plane, Shape, Wide
from manta_common.settle import Children, Settler
from manta_common.store import Held
from manta_common.writes import Writes
from manta_job_reconciler.actions import Action
from manta_job_reconciler.decide import decide
from manta_job_reconciler.execute import Errand, Hands
from manta_job_reconciler.gauges import Gauges
from manta_job_reconciler.judge import Judge
from manta_job_reconciler.observe import (
    CLUSTERS,
    JOBS,
    PODS,
    REPORTS,
    SERVICES,
    SUBMITTERS,
    cluster_of,
    headed_by,
    job_of,
    observe,
    submitter_of,
)
from manta_job_reconciler.observed import JobSettings

Phases = Sequence[Phase[Action]]


class JobService:
    """Implements the plane's `Service` for RayJobs."""

    name = "job-reconciler"
    sources: Sequence[Source[Any]] = (JOBS, CLUSTERS, SERVICES, SUBMITTERS, PODS, REPORTS)

    def __init__(self, kube: Kube, means: Means, settings: JobSettings, recorder: Recorder, shape: Shape) -> None:
        self._kube, self._settings, self._judge = kube, settings, Judge(settings.gates)
        wide = Wide(sources=(CLUSTERS, SERVICES), marks=_selecting)
        self.plane = Plane(means, self, shape, wide=wide)
        self._gauges = Gauges(means.metrics, lambda item: self.plane.owner.may_act(item.partition))
        self.plane.when_lost(self._gauges.lose, self._judge.lose)
        self._hands = Hands(
            kube=kube,
            writes=Writes(kube, self.plane, self.sources),
            dashboards=Dashboards(means.bus),
            recorder=recorder,
            settings=settings,
            gauges=self._gauges,
            recheck=self.plane.worker.recheck,
            now=kube.now,
        )

    def marks(self, word: str, held: Held[Any]) -> Iterable[Key]:
        """A job and what Ray says of it mark it; all else marks the job that it was made for."""
        match word:
            case "rayjob" | "jobinfo":
                return [held.key]
            case "pod":
                return {*submitter_of(held.object), *self._on_cluster(held, headed_by(held.object))}
            case "service":
                return {*job_of(held.object), *self._on_cluster(held, cluster_of(held.object))}
            case _:
                return job_of(held.object)

    async def settle(self, item: Item) -> None:
        """One pass."""
        errands: list[Errand] = []

        def decided(view: View, about: Item) -> Phases:
            found = observe(view, self.plane.everywhere, about)
            if found is None:
                self._gauges.gone(about)
                self._judge.forget(about)
                return []
            found = msgspec.structs.replace(found, problem=self._judge.problem(about, found.job))
            errands.append(Errand(about, found, self._hands))
            self._gauges.saw(about, found.job)
            if found.is_untouched:
                self.plane.fence.verified(about)  # nothing can have been made for it that the view may lack
            return decide(found, self._settings, self._kube.now())

        async def carry_out(_: Item, action: Action) -> None:
            await errands[-1].carry_out(action)

        await Settler(
            kube=self._kube,
            fence=self.plane.fence,
            view_of=self.plane.view_of,
            decide=decided,
            carry_out=carry_out,
            children=CHILDREN,
        ).settle(item)

    def _on_cluster(self, held: Held[Any], clusters: Iterable[Key]) -> Iterable[Key]:
        """The jobs that run on the cluster of a pod or Service."""
        for cluster in clusters:
            view = self.plane.view_of(Item(held.partition, cluster))
            yield from _jobs_on(view, cluster) if view else ()


def _selecting(word: str, held: Held[Any], view: View) -> Iterable[Key]:
    """The jobs of a partition that use a cluster which may stand elsewhere; one of their own stands with them."""
    clusters = [held.key] if word == CLUSTERS.word else cluster_of(held.object)
    return [key for cluster in clusters for key in _jobs_on(view, cluster, selected=True)]


def _jobs_on(view: View, cluster: Key, *, selected: bool = False) -> list[Key]:
    found = view.of(JOBS).find("cluster", cluster)
    return [
        Key(job.metadata.namespace, job.metadata.name) for job in found if job.spec.cluster_selector or not selected
    ]


def _scope(item: Item) -> Scope:
    marks = {labels.ORIGINATED_FROM_NAME: item.key.name, labels.ORIGINATED_FROM_KIND: "RayJob"}
    return Scope(namespace=item.key.namespace, labels=",".join(f"{name}={value}" for name, value in marks.items()))


def _ours(source: Source[Any]) -> Callable[[View, Item], list[Key]]:
    """The children of a job that our view shows."""
    return lambda view, item: [held.key for held in view.of(source) if item.key in job_of(held.object)]


CHILDREN = tuple(
    Children(kind, source, _scope, _ours(source))
    for kind, source in ((RAYCLUSTER, CLUSTERS), (SERVICE, SERVICES), (JOB, SUBMITTERS))
)
