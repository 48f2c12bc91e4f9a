"""What must be true of a RayService at rest: it is as ready as its endpoints, and has the clusters that it names."""

from manta_common.kinds import ENDPOINTSLICE, RAYCLUSTER
from manta_embedded.store.objects import Obj
from tests.model.fuzz.facts import Lie, condition, holds, is_leaving, is_refused, owner, place, told
from tests.model.fuzz.stage import Stage


def lies(stage: Stage, service: Obj) -> list[str]:
    """What its status says and what is not so."""
    if is_leaving(service) or is_refused(service):
        return []
    return told([*_readiness(stage, service), *_clusters(stage, service)])


def _readiness(stage: Stage, service: Obj) -> list[Lie]:
    status, ready = service.get("status", {}), holds(service, "Ready")
    count, word = status.get("numServeEndpoints", 0), status.get("serviceStatus", "")
    answering = _answering(stage, service)
    return [
        (not condition(service, "Ready"), "it has no condition Ready"),
        (ready != (count > 0), f"Ready is {ready} with {count} endpoints"),
        (ready != (word == "Running"), f"Ready is {ready}, and serviceStatus {word!r}"),
        (count > answering, f"numServeEndpoints is {count}, but {answering} pods answer"),
    ]


def _clusters(stage: Stage, service: Obj) -> list[Lie]:
    status = service.get("status", {})
    active, pending = (status.get(f"{side}ServiceStatus", {}).get("rayClusterName", "") for side in SIDES)
    found = stage.world.objects(RAYCLUSTER, place(service))
    names = {each["metadata"]["name"] for each in found if owner(each) == service["metadata"]["uid"]}
    is_suspended = bool(service["spec"].get("suspend"))
    is_put_off = place(service) in stage.put_off
    return [
        (bool(active) and active not in names, f"its active cluster {active} is not there"),
        (holds(service, "Ready") and not active, "it is Ready without a cluster"),
        (bool(names - {active, pending}) and not is_put_off, f"clusters {names - {active, pending}} are nobody's"),
        (is_suspended and bool(names), "it is suspended and has a cluster"),
        (is_suspended and not holds(service, "Suspended"), "it is to be suspended and does not say so"),
    ]


def _answering(stage: Stage, service: Obj) -> int:
    slices = stage.world.objects(ENDPOINTSLICE, place(service))
    endpoints = [each for found in slices for each in found.get("endpoints") or ()]
    return sum(1 for each in endpoints if each["conditions"]["ready"])


SIDES = ("active", "pending")
