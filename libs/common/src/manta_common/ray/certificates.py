"""The certificates of a cluster whose nodes talk by TLS, and who issues them (cert-manager)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from manta_common.api import labels, names
from manta_common.api.raycluster import RayCluster
from manta_common.ray.cluster import Manifest, app_labels, child, head_address
from manta_common.ray.settings import RaySettings

_API_VERSION: Final = "cert-manager.io/v1"
_SECRET_KEYS: Final = ("tls.crt", "tls.key", "ca.crt")
_LOOPBACK: Final = "127.0.0.1"


def issuers_and_ca(cluster: RayCluster) -> list[Manifest]:
    """The self-signed issuer, the CA it signs, and the issuer by that CA: made once, in this order."""
    name = cluster.metadata.name
    secret = names.ca_secret(name, cluster.metadata.uid)
    authority = {
        "secretName": secret,
        "isCA": True,
        "commonName": f"ray-ca-{name}",
        "privateKey": {"algorithm": "RSA", "size": 4096},
        "duration": "87600h0m0s",
        "renewBefore": "720h0m0s",
        "usages": ["cert sign", "crl sign"],
        "issuerRef": _issuer_reference(names.self_signed_issuer(name)),
    }
    return [
        _object(cluster, "Issuer", names.self_signed_issuer(name), "selfsigned-issuer", spec={"selfSigned": {}}),
        _object(cluster, "Certificate", names.ca_certificate(name), "ca-certificate", spec=authority),
        _object(cluster, "Issuer", names.ca_issuer(name), "ca-issuer", spec={"ca": {"secretName": secret}}),
    ]


def node_certificates(
    cluster: RayCluster, settings: RaySettings, *, head_ips: Iterable[str], worker_ips: Iterable[str]
) -> list[Manifest]:
    """The certificates of the head and of all workers, with the addresses that their pods have now."""
    hosts = ("localhost", head_address(cluster, settings))
    return [
        _node_certificate(cluster, labels.HEAD, hosts, head_ips),
        _node_certificate(cluster, labels.WORKER, hosts[:1], worker_ips),
    ]


def certificate_differs(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether a node's certificate must be changed: its labels or the names and addresses it is for."""
    if wanted["metadata"]["labels"] != (found["metadata"].get("labels") or {}):
        return True
    there = found.get("spec") or {}
    return any(set(wanted["spec"][field]) != set(there.get(field) or ()) for field in ("dnsNames", "ipAddresses"))


def is_certificate_ready(found: Mapping[str, Any]) -> bool:
    """Whether cert-manager says so of the certificate as it is now."""
    generation = found["metadata"].get("generation", 0)
    conditions = (found.get("status") or {}).get("conditions") or ()
    return any(
        one.get("type") == "Ready" and one.get("status") == "True" and one.get("observedGeneration", 0) == generation
        for one in conditions
    )


def missing_keys(secret_keys: Iterable[str]) -> list[str]:
    """What a node's Secret lacks yet."""
    present = set(secret_keys)
    return [key for key in _SECRET_KEYS if key not in present]


def certificate_reference(certificate: Mapping[str, Any]) -> Manifest:
    """The reference by which a Secret goes with its Certificate."""
    metadata = certificate["metadata"]
    return {"apiVersion": _API_VERSION, "kind": "Certificate", "name": metadata["name"], "uid": metadata["uid"]}


def _node_certificate(
    cluster: RayCluster, node_type: str, hosts: tuple[str, ...], addresses: Iterable[str]
) -> Manifest:
    spec = {
        "secretName": names.node_secret(cluster.metadata.name, node_type),
        "duration": "2160h0m0s",
        "renewBefore": "360h0m0s",
        "dnsNames": list(hosts),
        "ipAddresses": [_LOOPBACK, *sorted(set(addresses) - {"", _LOOPBACK})],
        "usages": ["digital signature", "key encipherment", "server auth", "client auth"],
        "issuerRef": _issuer_reference(names.ca_issuer(cluster.metadata.name)),
    }
    name = names.node_certificate(cluster.metadata.name, node_type)
    return _object(cluster, "Certificate", name, f"{node_type}-certificate", spec=spec)


def _issuer_reference(name: str) -> Manifest:
    return {"name": name, "kind": "Issuer", "group": "cert-manager.io"}


def _object(cluster: RayCluster, kind: str, name: str, component: str, *, spec: Manifest) -> Manifest:
    labelled = app_labels(cluster) | {labels.COMPONENT: component}
    return child(cluster, _API_VERSION, kind, name=name, labelled=labelled) | {"spec": spec}
