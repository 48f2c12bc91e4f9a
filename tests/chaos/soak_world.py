"""Where a soak takes place: the services, what they need, and what must hold of them when all is quiet."""

import logging
import time
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from manta_common.kinds import POD, RAYCLUSTER, RAYJOB, SERVICE, Kind
from manta_watcher.watched import WATCHED
from tests.chaos.soak_bus import Bus, bus_complaints, look
from tests.chaos.soak_dashboards import SoakDashboards
from tests.chaos.soak_feed import Things, feed_complaints, versions
from tests.chaos.soak_memory import Living, living_complaints
from tests.chaos.soak_services import FOLLOWED, WATCHER, Fleet, Replica
from tests.chaos.soak_truth import Obj, cluster_complaints, job_complaints
from tests.chaos.soak_users import Users
from tests.parts.cluster import ApiError
from tests.parts.control_plane import ControlPlane
from tests.parts.nats import Nats
from tests.parts.process import wait_until

SETTLE_SECONDS: Final = 60.0
SHOWN: Final = 30  # complaints
log = logging.getLogger(__name__)
LEFT: Final = (RAYJOB, RAYCLUSTER, POD, SERVICE)


class World:
    """One namespace and everything that looks after it."""

    def __init__(self, plane: ControlPlane, namespace: str, nats: Nats, dashboards: SoakDashboards) -> None:
        self.plane, self.namespace, self.nats, self.dashboards = plane, namespace, nats, dashboards
        address = dashboards.dashboard_url.removeprefix("http://")
        self.fleet = Fleet(plane, namespace, nats_url=nats.url, dashboards=address)

    def settles(self, users: Users) -> None:
        """Wait until every job has ended as it should, and every cluster is as its user wants it."""
        agree("the jobs have ended", lambda: job_complaints(users.plan, users.fates, self.dashboards.taken))
        agree("the clusters are as wanted", lambda: self._cluster_complaints(users))

    def is_known(self, *, replicas: int) -> Bus:
        """Wait until so many replicas of each service and the bus say what the API server lists; the bus."""
        agree("services know what is there", lambda: self._feed_complaints(replicas))
        agree("the bus shows what is there", lambda: self._bus_complaints(replicas))
        return look(self.nats.url)

    def clear(self) -> None:
        """Delete all clusters and jobs, and wait until nothing is left of them."""
        for kind in (RAYJOB, RAYCLUSTER):
            for one in self.objects(kind):
                self._remove(kind, one["metadata"]["name"])
        agree("everything is gone", lambda: [f"{one.kind}s are left" for one in LEFT if self.objects(one)])

    def _remove(self, kind: Kind, name: str) -> None:
        """Delete an object, which may have gone meanwhile."""
        try:
            self.plane.request("DELETE", kind.path(self.namespace, name))
        except ApiError as error:
            if error.code != 404:
                raise

    def rests(self, before: dict[str, Living]) -> dict[str, Living]:
        """Wait until no more lives in the survivors than before; what does."""
        found: dict[str, Living] = {}

        def complaints() -> Iterator[str]:
            for name, replica in self.fleet.survivors.items():
                found[name] = replica.living()
                for said in living_complaints(before[name], found[name]):
                    yield f"{name}: {said}"

        agree("no more lives than before", lambda: list(complaints()))
        return found

    def objects(self, kind: Kind, labels: str = "") -> list[Obj]:
        """All objects of a kind."""
        query = f"?labelSelector={urllib.parse.quote(labels)}" if labels else ""
        found: list[Any] = self.plane.request("GET", f"{kind.path(self.namespace)}{query}")["items"]
        return found

    def things(self) -> Things:
        """The metadata of all that the watcher watches, as the API server lists it."""
        return {
            watched.kind.name: {
                f"{about['namespace']}/{about['name']}": about
                for scope in watched.scopes([self.namespace])
                for about in (one["metadata"] for one in self.objects(watched.kind, scope.labels))
            }
            for watched in WATCHED
        }

    def _cluster_complaints(self, users: Users) -> list[str]:
        clusters, pods, services = (self.objects(kind) for kind in (RAYCLUSTER, POD, SERVICE))
        return cluster_complaints(users.plan.clusters, clusters, pods, services)

    def _feed_complaints(self, replicas: int) -> list[str]:
        living = list(self.fleet)
        if len(living) != replicas * len(self.fleet.survivors):
            return [f"{len(living)} processes live"]
        things = self.things()
        known = sum(len(found) for found in things.values())
        return [
            *feed_complaints([replica.objects() for replica in living], FOLLOWED, things),
            *_of_watchers([replica for replica in living if replica.service == WATCHER], known),
        ]

    def _bus_complaints(self, replicas: int) -> list[str]:
        return bus_complaints(look(self.nats.url), versions(self.things()), replicas=replicas)


def _of_watchers(watchers: Sequence[Replica], known: int) -> Iterator[str]:
    """One of them watches, and has published what there is."""
    active = [state for replica in watchers if (state := replica.state()[WATCHER])["active"]]
    if len(active) != 1:
        yield f"{len(active)} watchers watch"
    for state in active:
        if not state["whole"] or state["waiting"] or state["objects"] != known:
            yield f"the watcher has published {state['objects']} of {known} objects, {state['waiting']} wait"


def agree(what: str, complaints: Callable[[], Sequence[str]]) -> None:
    """Wait until there are no complaints; AssertionError with those that are left at the limit."""
    left: Sequence[str] = ()
    began = time.monotonic()

    def is_agreed() -> bool:
        nonlocal left
        left = complaints()
        return not left

    try:
        wait_until(what, is_agreed, limit_seconds=SETTLE_SECONDS)
        log.info("%s: after %.1f s", what, time.monotonic() - began)
    except TimeoutError as error:
        more = [f"and {len(left) - SHOWN} more"] if len(left) > SHOWN else []
        raise AssertionError("\n".join([str(error), *left[:SHOWN], *more])) from None
