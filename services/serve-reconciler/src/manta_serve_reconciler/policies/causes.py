"""Why a RayService does not serve: which cluster, application and deployment, in Ray's own words."""

from collections.abc import Iterator
from typing import Final

from manta_common.api.rayservice import AppStatus
from manta_serve_reconciler.observed import HEAD_READY, Observed, Side
from manta_serve_reconciler.reasons import APP_RUNNING

CHARACTERS: Final = 300  # of one message of Ray's
HEALTHY: Final = "HEALTHY"
PODS_FAILING: Final = "PodsFailing"


def cause(observed: Observed, problem: str = "") -> str:
    """What the cluster that matters waits for; nothing when nothing is known to be wrong."""
    side = observed.pending if observed.pending.name else observed.active
    if not side.name:
        return ""
    if problem:
        return problem
    return "; ".join(_causes(side))


def _causes(side: Side) -> Iterator[str]:
    yield from _of_pods(side)
    if side.submitted.error:
        yield f"Serve on cluster {side.name} did not take serveConfigV2: {_short(side.submitted.error)}"
    report = side.report
    if not side.is_head_ready or report is None:
        return
    if report.trouble:
        yield f"the dashboard of cluster {side.name} is {report.trouble.kind}: {_short(report.trouble.message)}"
        return
    for name, found in sorted(side.status.application_statuses.items()):
        yield from _of_application(name, found)


def _of_pods(side: Side) -> Iterator[str]:
    """What the cluster's own conditions tell."""
    found = {each.type: each for each in side.cluster.status.conditions} if side.cluster else {}
    failing, head = found.get(PODS_FAILING), found.get(HEAD_READY)
    if failing and failing.status == "True":
        yield f"pods of cluster {side.name} fail: {_short(failing.message)}"
    elif head and head.status != "True" and head.message:
        yield f"the head of cluster {side.name} is not ready: {_short(head.message)}"


def _of_application(name: str, found: AppStatus) -> Iterator[str]:
    if found.status == APP_RUNNING:
        return
    yield f"application {name} is {found.status}{_told(found.message)}"
    for deployment, one in sorted(found.serve_deployment_statuses.items()):
        if one.status != HEALTHY:
            yield f"deployment {deployment} of {name} is {one.status}{_told(one.message)}"


def _told(message: str) -> str:
    return f": {_short(message)}" if message else ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= CHARACTERS else f"{text[: CHARACTERS - 3]}..."
