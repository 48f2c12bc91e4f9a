"""The label by which the serve Service sends requests to a head pod, or does not."""

from manta_common.api import labels
from manta_common.api.core import Pod
from manta_serve_reconciler.actions import Action, LabelHead
from manta_serve_reconciler.observed import Observed, Side


def actions(observed: Observed) -> tuple[Action, ...]:
    """Label the heads of both clusters by how their proxies are."""
    return tuple(
        LabelHead(head.metadata.name, head.metadata.uid, value)
        for side in observed.sides
        if side.cluster is not None
        for head in side.heads
        if (value := _wanted(observed, side, head)) and head.metadata.labels.get(labels.SERVE) != value
    )


def _wanted(observed: Observed, side: Side, head: Pod) -> str:
    """`true` or `false`; nothing while nobody knows."""
    if observed.spec.exclude_head_pod_from_serve_svc:
        return labels.FALSE
    proxy = side.report.proxy if side.report else None
    if proxy is None or proxy.pod != head.metadata.name:
        return ""
    return labels.TRUE if proxy.healthy else labels.FALSE
