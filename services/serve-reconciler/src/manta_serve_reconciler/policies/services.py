"""The head and the serve Service: to which cluster they lead, and how they come to lead to another one."""

import msgspec

from manta_common.api import labels, names
from manta_common.ray.cluster import Unbuildable
from manta_serve_reconciler import manifests
from manta_serve_reconciler.actions import Action, CreateService, MoveService, Which
from manta_serve_reconciler.observed import Observed
from manta_serve_reconciler.policies.applications import Served

Names = dict[Which, str]


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """Where the Services lead when this pass is over, if that is known; and why they cannot be made."""

    cluster: str = ""
    actions: tuple[Action, ...] = ()
    problem: str = ""


def aim(observed: Observed, *, active: Served, pending: Served) -> Aim:
    """Lead to the cluster to come as soon as it is ready, else to the one that serves."""
    side = observed.pending if pending.ready else observed.active if active.ready else None
    if side is None or side.cluster is None:
        return Aim(cluster=_led_to(observed))
    if side is observed.pending and not _is_worth_switching(observed):
        return Aim(cluster=_led_to(observed), problem="no pod of the new cluster answers requests yet")
    changes = {which: _change(observed, which, name, side.name) for which, name in wanted(observed).items()}
    try:
        manifests.serve_service(observed.service, side.cluster)
    except Unbuildable as error:
        return Aim(actions=_done(changes["head"]), problem=str(error))
    return Aim(cluster=side.name, actions=_done(*changes.values()))


def wanted(observed: Observed) -> Names:
    """The names of the two Services."""
    return {"head": names.head_service(observed.name), "serve": manifests.serve_service_name(observed.service)}


def _is_worth_switching(observed: Observed) -> bool:
    """Whether nobody loses by a switch: while the old cluster answers, the new one must do so too."""
    answers = observed.active.cluster is not None and observed.active.servers > 0
    return not answers or observed.pending.servers > 0 or _led_to(observed) == observed.pending.name


def _led_to(observed: Observed) -> str:
    """The cluster that both Services lead to; nothing when they are not there or disagree."""
    found = {_selected(observed, name) for name in wanted(observed).values()}
    return next(iter(found)) if len(found) == 1 else ""


def _selected(observed: Observed, name: str) -> str:
    service = observed.services.get(name)
    return service.spec.selector.get(labels.CLUSTER, "") if service else ""


def _done(*changes: Action | None) -> tuple[Action, ...]:
    return tuple(change for change in changes if change is not None)


def _change(observed: Observed, which: Which, name: str, cluster: str) -> Action | None:
    service = observed.services.get(name)
    if service is None:
        return CreateService(which, name, cluster)
    if _selected(observed, name) == cluster:
        return None
    return MoveService(which, name, cluster, service.metadata.resource_version)
