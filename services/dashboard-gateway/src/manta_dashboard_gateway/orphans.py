"""Reports whose object is gone: the owner of their partition removes them."""

from collections.abc import Callable, Iterator
from typing import Any

from manta_common.dashboard.reports import JOB_INFO, SERVE_INFO
from manta_common.feed import Source, View
from manta_common.store import Held
from manta_dashboard_gateway.publisher import Place, Publisher
from manta_dashboard_gateway.seen import CLUSTERS, JOB_REPORTS, JOBS, SERVE_REPORTS


class Orphans:
    """Removes a report when it is seen without its object for the second time: the object may only come later."""

    def __init__(self, publisher: Publisher, may_act: Callable[[int], bool]) -> None:
        self._publisher, self._may_act = publisher, may_act
        self._seen: set[str] = set()  # subjects

    async def remove(self, view: View) -> None:
        """Look for them, and remove those of our partitions that were seen before."""
        jobs, clusters = _alone(view, JOB_REPORTS, JOBS), _alone(view, SERVE_REPORTS, CLUSTERS)
        found: list[tuple[Place[Any], str]] = [
            *((Place(JOB_INFO, held.partition, held.key), held.uid) for held in jobs),
            *((Place(SERVE_INFO, held.partition, held.key), held.uid) for held in clusters),
        ]
        for place, uid in found:
            if place.subject in self._seen and self._may_act(place.partition):
                await self._publisher.bury(place, uid)
        self._seen = {place.subject for place, _ in found}


def _alone(view: View, reports: Source[Any], objects: Source[Any]) -> Iterator[Held[Any]]:
    """The reports that are about nothing, or about what stands in another partition."""
    for held in view.of(reports):
        owner = view.of(objects).held(held.key)
        if owner is None or owner.partition != held.partition:
            yield held
