"""TLS between the nodes: cert-manager's objects, and no pod before its certificate is there."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from manta_cluster_reconciler.actions import Action, Create, Halt, Patch, Phase, Tell, Told
from manta_cluster_reconciler.observed import Found, Observed, is_terminating
from manta_cluster_reconciler.policies.needs import kind_of
from manta_cluster_reconciler.rules import Rules
from manta_common.api import labels, names
from manta_common.api.core import Pod
from manta_common.api.documents import replaced
from manta_common.deeds import Recheck
from manta_common.kinds import CERTIFICATE, SECRET
from manta_common.kube.series import Notice
from manta_common.ray import certificates
from manta_common.ray.cluster import has_tls

CONTROLLER: Final = "raycluster-mtls-controller"
NOT_READY: Final = timedelta(seconds=30)
READY: Final = timedelta(seconds=60)
SOON: Final = timedelta(hours=24)
NODES: Final = (labels.HEAD, labels.WORKER)


def phases(observed: Observed, rules: Rules, now: datetime) -> list[Phase]:
    """Make what is missing, renew the addresses, let Secrets go with their certificates, and look again."""
    if not has_tls(observed.cluster, rules.ray):
        return []
    workers = [pod for name, pods in observed.groups.items() if name != labels.HEAD_GROUP for pod in pods]
    nodes = certificates.node_certificates(
        observed.cluster, rules.ray, head_ips=_addresses(observed.heads), worker_ips=_addresses(workers)
    )
    authority = certificates.issuers_and_ca(observed.cluster)
    made = [[_create(body)] for body in authority if _found(observed, body) is None]
    return [*made, *(_node(observed, body) for body in nodes), _owners(observed), _outlook(observed, now)]


def halt(observed: Observed, rules: Rules) -> Halt | None:
    """Why no pod can be made yet."""
    missing = _missing(observed) if has_tls(observed.cluster, rules.ray) else []
    return Halt(message=f"mTLS secrets not ready: {'; '.join(missing)}") if missing else None


def _missing(observed: Observed) -> list[str]:
    found: list[str] = []
    for node in NODES:
        certificate, secret = _pair(observed, node)
        if certificate is None or not certificates.is_certificate_ready(certificate):
            found.append(f"certificate {names.node_certificate(observed.key.name, node)} is not ready")
        elif secret is None or certificates.missing_keys(secret.get("data") or ()):
            found.append(f"secret {names.node_secret(observed.key.name, node)} is not complete")
    return found


def _pair(observed: Observed, node: str) -> tuple[Found | None, Found | None]:
    certificate = observed.fetched.get(CERTIFICATE, names.node_certificate(observed.key.name, node))
    return certificate, observed.fetched.get(SECRET, names.node_secret(observed.key.name, node))


def _authority(observed: Observed) -> tuple[Found | None, Found | None]:
    name, secret = observed.key.name, names.ca_secret(observed.key.name, observed.cluster.metadata.uid)
    return observed.fetched.get(CERTIFICATE, names.ca_certificate(name)), observed.fetched.get(SECRET, secret)


def _node(observed: Observed, wanted: dict[str, Any]) -> list[Action]:
    found = _found(observed, wanted)
    if found is None:
        return [_create(wanted)]
    if not certificates.certificate_differs(wanted, found):
        return []
    metadata, spec = found["metadata"], wanted["spec"]
    body = {
        "metadata": {"labels": replaced(metadata.get("labels") or {}, wanted["metadata"]["labels"])},
        "spec": {"dnsNames": spec["dnsNames"], "ipAddresses": spec["ipAddresses"]},
    }
    told = Told(done=_normal("MTLSCertificatesUpdated", "Update", f"Updated certificate {metadata['name']}"))
    version = metadata["resourceVersion"]
    return [Patch(kind=CERTIFICATE, name=metadata["name"], body=body, version=version, told=told)]


def _owners(observed: Observed) -> list[Action]:
    """Let the Secrets that cert-manager made go with their certificates."""
    found: list[Action] = []
    for certificate, secret in (_authority(observed), *(_pair(observed, node) for node in NODES)):
        if certificate is None or secret is None:
            continue
        wanted, metadata = certificates.certificate_reference(certificate), secret["metadata"]
        owners = list(metadata.get("ownerReferences") or ())
        if wanted["uid"] not in {owner["uid"] for owner in owners}:
            body = {"metadata": {"ownerReferences": [*owners, wanted]}}
            version = metadata["resourceVersion"]
            found.append(Patch(kind=SECRET, name=metadata["name"], body=body, version=version))
    return found


def _outlook(observed: Observed, now: datetime) -> list[Action]:
    """Look again, sooner while something is missing; say how it is when it was just looked at."""
    missing = _missing(observed)
    again = Recheck(now + (NOT_READY if missing else READY))
    if not observed.fetched.fresh:
        return [again]
    if missing:
        return [
            again,
            Tell(_normal("MTLSCertsNotReady", "Validate", f"Waiting for certificates: {'; '.join(missing)}")),
        ]
    return [again, Tell(_normal("MTLSPKIReady", "Validate", "All certificates are ready")), *_expiring(observed, now)]


def _expiring(observed: Observed, now: datetime) -> Iterable[Action]:
    for node in NODES:
        certificate, _ = _pair(observed, node)
        until = ((certificate or {}).get("status") or {}).get("notAfter")
        if until and datetime.fromisoformat(until) - now < SOON:
            note = f"Certificate {names.node_certificate(observed.key.name, node)} expires at {until}"
            yield Tell(_warning("MTLSCertificateExpiringSoon", "Validate", note))


def _create(body: dict[str, Any]) -> Create:
    what = f"{body['kind']} {body['metadata']['namespace']}/{body['metadata']['name']}"
    failed = _warning("MTLSFailedToReconcile", "Create", f"Failed to create {what}")
    return Create(kind=kind_of(body), body=body, told=Told(failed=failed))


def _found(observed: Observed, wanted: dict[str, Any]) -> Found | None:
    return observed.fetched.get(kind_of(wanted), wanted["metadata"]["name"])


def _addresses(pods: Iterable[Pod]) -> list[str]:
    return [pod.status.pod_ip for pod in pods if pod.status.pod_ip and not is_terminating(pod)]


def _normal(reason: str, action: str, note: str) -> Notice:
    return Notice(controller=CONTROLLER, type="Normal", reason=reason, action=action, note=note)


def _warning(reason: str, action: str, note: str) -> Notice:
    return Notice(controller=CONTROLLER, type="Warning", reason=reason, action=action, note=note)
