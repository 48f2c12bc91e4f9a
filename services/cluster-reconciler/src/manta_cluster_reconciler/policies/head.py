"""The head pod: exactly one, replaced when it has failed."""

from datetime import datetime

from manta_cluster_reconciler import manifests, reasons
from manta_cluster_reconciler.actions import Action, CreatePod, DeletePod, Halt
from manta_cluster_reconciler.observed import Observed, is_failed, is_terminating
from manta_cluster_reconciler.policies import certificates, setbacks
from manta_cluster_reconciler.rules import Rules
from manta_common.api.annotations import DISABLE_PROVISIONED_HEAD_RESTART
from manta_common.api.core import Pod
from manta_common.api.labels import TRUE
from manta_common.deeds import Recheck
from manta_common.keys import Key

SLOT = "head"


def actions(observed: Observed, rules: Rules, now: datetime) -> list[Action] | None:
    """What is to be done about the head; None where the workers are not to be looked at either."""
    match observed.heads:
        case []:
            return _create(observed, rules)
        case [pod]:
            return _keep(observed, pod, now)
        case _:
            names = " ".join(pod.metadata.name for pod in observed.heads)
            message = f"{len(observed.heads)} head pods found [{names}]. Please delete extra head pods"
            return [Halt(message=message)]


def _keep(observed: Observed, pod: Pod, now: datetime) -> list[Action]:
    """Delete a head that has failed; the workers wait for the next one to be asked for."""
    if is_terminating(pod) or not is_failed(pod):
        return []
    due_at = setbacks.due_at(observed.memory.setbacks.get(SLOT), now)
    if due_at > now:
        return [Recheck(due_at)]
    return [
        DeletePod(
            name=pod.metadata.name,
            uid=pod.metadata.uid,
            told=reasons.deleting_failed(pod, "head"),
            marker=reasons.FAILED_DELETE_HEAD,
            because="failed",
            slot=SLOT,
        )
    ]


def _create(observed: Observed, rules: Rules) -> list[Action] | None:
    stays_away = observed.cluster.metadata.annotations.get(DISABLE_PROVISIONED_HEAD_RESTART) == TRUE
    if stays_away and observed.is_true(reasons.PROVISIONED):
        return None
    waiting = certificates.halt(observed, rules)
    if waiting:
        return [waiting]
    body = manifests.head_pod(observed, rules)
    key = Key(observed.key.namespace, body["metadata"]["name"])
    told = reasons.creating("HeadPod", "head Pod", key, trying="to create")
    if key.name in observed.memory.taken:
        return [Halt(message=f"head Pod {key} cannot be made: a Pod of that name is there already", notice=told.failed)]
    return [CreatePod(body=body, told=told, marker=reasons.FAILED_CREATE_HEAD)]
