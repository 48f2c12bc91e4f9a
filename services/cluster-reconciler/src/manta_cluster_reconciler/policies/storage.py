"""The claim for the volume of the GCS' embedded storage."""

from typing import Any

from manta_cluster_reconciler import reasons
from manta_cluster_reconciler.actions import Action, Create, Patch, Phase, Tell
from manta_cluster_reconciler.observed import Found, Observed
from manta_cluster_reconciler.policies import needs
from manta_common.keys import Key
from manta_common.kinds import PVC
from manta_common.ray import claims
from manta_common.ray.cluster import has_embedded_storage, owner_reference

FAILED = "FailedToCreatePVC"


def actions(observed: Observed) -> Phase:
    """Make the claim, tell what is wrong with the one that is there, and own it unless it is to be retained."""
    if not has_embedded_storage(observed.cluster):
        return []
    name = needs.claim(observed.cluster)
    found = observed.fetched.get(PVC, name)
    if claims.embedded_storage(observed.cluster).claim_name:
        return [] if found else _tell(observed, "Validate", _missing(name, observed.key.namespace))
    key = Key(observed.key.namespace, name)
    if found is None:
        told = reasons.creating("PVC", "GCS storage PVC", key, trying="to create")
        return [Create(kind=PVC, body=claims.gcs_claim(observed.cluster), told=told)]
    drift = claims.claim_drift(observed.cluster, found)
    wrong = _tell(observed, "Update", _drifted(key, drift)) if drift else []
    return [*wrong, *_ownership(observed, found)]


def _tell(observed: Observed, action: str, note: str) -> list[Action]:
    return [Tell(reasons.warning(FAILED, action, note))] if observed.fetched.fresh else []


def _missing(name: str, namespace: str) -> str:
    return (
        f'GcsFaultToleranceOptions.Storage.ClaimName "{name}" not found in namespace {namespace}; the head Pod '
        "will not start until it exists"
    )


def _drifted(key: Key, drift: list[str]) -> str:
    return (
        f"GCS storage PVC {key} already exists and cannot be reconfigured in place ({'; '.join(drift)}); delete the "
        "PVC to recreate it with the new settings"
    )


def _ownership(observed: Observed, found: Found) -> list[Action]:
    """A claim that is to be retained loses its owner, another one gets it."""
    owners: list[dict[str, Any]] = list(found["metadata"].get("ownerReferences") or ())
    uid = observed.cluster.metadata.uid
    others = [owner for owner in owners if owner["uid"] != uid]
    wanted = others if claims.is_retained(observed.cluster) else [*others, owner_reference(observed.cluster)]
    if {owner["uid"] for owner in wanted} == {owner["uid"] for owner in owners}:
        return []
    body = {"metadata": {"ownerReferences": wanted}}
    metadata = found["metadata"]
    return [Patch(kind=PVC, name=metadata["name"], body=body, version=metadata["resourceVersion"])]
