"""With TLS between the nodes, certificates come first, follow the pods' addresses, and no pod is made without them."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from manta_cluster_reconciler.actions import Action, Create, Halt, Patch, Tell
from manta_cluster_reconciler.observed import Fetched, Observed, observed
from manta_cluster_reconciler.policies import certificates, needs, pods
from manta_cluster_reconciler.rules import Rules
from manta_common.api.core import Pod
from manta_common.api.gates import Gates
from manta_common.deeds import Recheck
from manta_common.ray.certificates import issuers_and_ca, node_certificates
from manta_common.ray.settings import RaySettings
from tests.examples.example import Json
from tests.unit.manta_cluster_reconciler.scenes import NOW, RULES, cluster, created, flat, head, service

ON = Rules(ray=RaySettings(gates=Gates(mtls=True), cert_manager=True))
OF = cluster({"tlsOptions": {"enabled": True}})
KEYS = {"tls.crt": "", "tls.key": "", "ca.crt": ""}
SECRETS = {
    "demo-ca-secret-u-1": "ray-ca-certificate-demo",
    "ray-head-secret-demo": "ray-head-cert-demo",
    "ray-worker-secret-demo": "ray-worker-cert-demo",
}


def stored(*, ready: bool = True, until: str = "2027-01-01T00:00:00Z") -> dict[tuple[str, str], Json | None]:
    """Everything that cert-manager made, as the API server has it."""
    made = [*issuers_and_ca(OF), *node_certificates(OF, ON.ray, head_ips=(), worker_ips=())]
    found: dict[tuple[str, str], Json | None] = {}
    for body in msgspec.to_builtins(made):
        name = body["metadata"]["name"]
        body["metadata"] |= {"uid": f"uid-of-{name}", "resourceVersion": "9", "generation": 2}
        condition = {"type": "Ready", "status": "True" if ready else "False", "observedGeneration": 2}
        body["status"] = {"conditions": [condition], "notAfter": until}
        found[body["kind"].lower(), name] = body
    for name, certificate in SECRETS.items():
        owners = [{"uid": f"uid-of-{certificate}"}]
        metadata = {"name": name, "resourceVersion": "9", "ownerReferences": owners}
        found["secret", name] = {"metadata": metadata, "data": KEYS}
    return found


def seen(objects: Any, *found: Pod, fresh: bool = True) -> Observed:
    return observed(OF, found, [service(OF)], fetched=Fetched(objects=objects, fresh=fresh))


def missing() -> dict[tuple[str, str], None]:
    return {(kind.name, name): None for kind, name in needs.needs(OF, ON)}


def decided(objects: Any, *found: Pod, fresh: bool = True) -> list[Action]:
    return flat(certificates.phases(seen(objects, *found, fresh=fresh), ON, NOW))


def reasons(actions: list[Action]) -> list[str]:
    return [one.notice.reason for one in actions if isinstance(one, Tell)]


def test_everything_is_made_in_order() -> None:
    kinds = [(one.body["kind"], one.body["metadata"]["name"]) for one in decided(missing()) if isinstance(one, Create)]
    assert kinds == [
        ("Issuer", "ray-selfsigned-issuer-demo"),
        ("Certificate", "ray-ca-certificate-demo"),
        ("Issuer", "ray-ca-issuer-demo"),
        ("Certificate", "ray-head-cert-demo"),
        ("Certificate", "ray-worker-cert-demo"),
    ]


def test_no_pod_is_made_before_its_certificate_is_there() -> None:
    waiting = flat(pods.phases(seen(stored(ready=False)), ON, NOW))
    assert created(waiting) == []
    assert isinstance(waiting[0], Halt)
    assert waiting[0].message.startswith("mTLS secrets not ready: certificate ray-head-cert-demo is not ready")
    incomplete = stored()
    incomplete["secret", "ray-worker-secret-demo"] = None
    assert created(pods.phases(seen(incomplete), ON, NOW)) == []
    assert len(created(pods.phases(seen(stored()), ON, NOW))) == 2


def test_certificates_follow_the_addresses_of_pods() -> None:
    [patch, *_] = decided(stored(), head(OF))
    assert isinstance(patch, Patch)
    assert patch.body["spec"]["ipAddresses"] == ["127.0.0.1", "10.0.0.1"]
    assert patch.told.done is not None
    assert patch.told.done.reason == "MTLSCertificatesUpdated"


def test_it_is_looked_at_again_sooner_while_something_is_missing() -> None:
    assert Recheck(NOW + timedelta(seconds=30)) in decided(stored(ready=False))
    assert Recheck(NOW + timedelta(seconds=60)) in decided(stored())
    assert reasons(decided(stored(ready=False))) == ["MTLSCertsNotReady"]
    assert reasons(decided(stored())) == ["MTLSPKIReady"]
    assert reasons(decided(stored(), fresh=False)) == []


def test_a_certificate_that_ends_soon_is_warned_of() -> None:
    assert "MTLSCertificateExpiringSoon" in reasons(decided(stored(until="2026-01-03T00:00:00Z")))


@pytest.mark.parametrize(("name", "certificate"), SECRETS.items())
def test_secrets_go_with_their_certificates(name: str, certificate: str) -> None:
    objects = stored()
    secret = objects["secret", name]
    assert secret is not None
    secret["metadata"]["ownerReferences"] = []
    [patch, *_] = decided(objects)
    assert isinstance(patch, Patch)
    assert patch.name == name
    assert patch.body["metadata"]["ownerReferences"][0]["uid"] == f"uid-of-{certificate}"


def test_labels_that_somebody_added_to_a_certificate_are_taken_off() -> None:
    objects = stored()
    certificate = objects["certificate", "ray-head-cert-demo"]
    assert certificate is not None
    wanted = dict(certificate["metadata"]["labels"])
    certificate["metadata"]["labels"]["team"] = "a"
    [patch, *_] = decided(objects)
    assert isinstance(patch, Patch)
    assert patch.body["metadata"]["labels"] == {"team": None, **wanted}


def test_a_certificate_that_cannot_be_made_is_told_by_the_controller_of_certificates() -> None:
    [action, *_] = decided(missing())
    assert isinstance(action, Create)
    assert action.told.failed is not None
    assert (action.told.failed.controller, action.told.failed.reason) == (
        "raycluster-mtls-controller",
        "MTLSFailedToReconcile",
    )


def test_without_tls_there_is_nothing_to_do() -> None:
    plain = observed(cluster(), (), ())
    assert certificates.phases(plain, RULES, NOW) == []
    assert certificates.halt(plain, RULES) is None
