"""Issuers and certificates."""

from typing import Any

import pytest

from manta_common.ray.certificates import (
    certificate_differs,
    certificate_reference,
    is_certificate_ready,
    issuers_and_ca,
    missing_keys,
    node_certificates,
)
from tests.unit.manta_common.ray.clusters import ADDRESS, SETTINGS, cluster

LABELS = {
    "ray.io/cluster": "demo",
    "app.kubernetes.io/name": "kuberay",
    "app.kubernetes.io/created-by": "kuberay-operator",
}
USAGES = ["digital signature", "key encipherment", "server auth", "client auth"]


def issuer(name: str) -> dict[str, str]:
    return {"name": name, "kind": "Issuer", "group": "cert-manager.io"}


def test_who_issues() -> None:
    made = issuers_and_ca(cluster())
    assert [(one["kind"], one["metadata"]["name"]) for one in made] == [
        ("Issuer", "ray-selfsigned-issuer-demo"),
        ("Certificate", "ray-ca-certificate-demo"),
        ("Issuer", "ray-ca-issuer-demo"),
    ]
    for one, component in zip(made, ("selfsigned-issuer", "ca-certificate", "ca-issuer"), strict=True):
        assert one["metadata"]["labels"] == LABELS | {"app.kubernetes.io/component": component}
        assert one["metadata"]["ownerReferences"][0]["controller"] is True
    assert [one["spec"] for one in made] == [
        {"selfSigned": {}},
        {
            "secretName": "demo-ca-secret-12345678",
            "isCA": True,
            "commonName": "ray-ca-demo",
            "privateKey": {"algorithm": "RSA", "size": 4096},
            "duration": "87600h0m0s",
            "renewBefore": "720h0m0s",
            "usages": ["cert sign", "crl sign"],
            "issuerRef": issuer("ray-selfsigned-issuer-demo"),
        },
        {"ca": {"secretName": "demo-ca-secret-12345678"}},
    ]


def nodes(head_ips: list[str], worker_ips: list[str]) -> list[dict[str, Any]]:
    return node_certificates(cluster(), SETTINGS, head_ips=head_ips, worker_ips=worker_ips)


def test_the_nodes_certificates_name_their_addresses() -> None:
    head, worker = nodes(["10.0.0.2", ""], ["10.0.0.9", "10.0.0.3", "10.0.0.9"])
    assert (head["metadata"]["name"], worker["metadata"]["name"]) == ("ray-head-cert-demo", "ray-worker-cert-demo")
    assert head["metadata"]["labels"]["app.kubernetes.io/component"] == "head-certificate"
    assert head["spec"] == {
        "secretName": "ray-head-secret-demo",
        "duration": "2160h0m0s",
        "renewBefore": "360h0m0s",
        "dnsNames": ["localhost", ADDRESS],
        "ipAddresses": ["127.0.0.1", "10.0.0.2"],
        "usages": USAGES,
        "issuerRef": issuer("ray-ca-issuer-demo"),
    }
    assert (worker["spec"]["secretName"], worker["spec"]["dnsNames"]) == ("ray-worker-secret-demo", ["localhost"])
    assert worker["spec"]["ipAddresses"] == ["127.0.0.1", "10.0.0.3", "10.0.0.9"]


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        pytest.param({}, False, id="the same"),
        pytest.param({"spec": {"ipAddresses": ["10.0.0.2", "127.0.0.1"]}}, False, id="in another order"),
        pytest.param({"spec": {"duration": "1h"}}, False, id="what is not looked at"),
        pytest.param({"spec": {"ipAddresses": ["127.0.0.1"]}}, True, id="an address less"),
        pytest.param({"spec": {"dnsNames": None}}, True, id="no names"),
        pytest.param({"metadata": {"labels": {}}}, True, id="labels"),
    ],
)
def test_differences(change: dict[str, Any], *, differs: bool) -> None:
    wanted = nodes(["10.0.0.2"], [])[0]
    found = {part: wanted[part] | change.get(part, {}) for part in ("metadata", "spec")}
    assert certificate_differs(wanted, found) is differs


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        pytest.param([], False, id="nothing said yet"),
        pytest.param([{"type": "Ready", "status": "True", "observedGeneration": 2}], True, id="ready"),
        pytest.param(
            [{"type": "Ready", "status": "True", "observedGeneration": 1}], False, id="ready before the change"
        ),
        pytest.param([{"type": "Ready", "status": "False", "observedGeneration": 2}], False, id="not ready"),
        pytest.param([{"type": "Issuing", "status": "True", "observedGeneration": 2}], False, id="something else"),
    ],
)
def test_readiness(conditions: list[dict[str, Any]], *, ready: bool) -> None:
    assert is_certificate_ready({"metadata": {"generation": 2}, "status": {"conditions": conditions}}) is ready


def test_a_secret_needs_three_keys() -> None:
    assert missing_keys(["tls.crt", "other"]) == ["tls.key", "ca.crt"]
    assert missing_keys(["tls.crt", "tls.key", "ca.crt"]) == []


def test_a_secret_goes_with_its_certificate() -> None:
    assert certificate_reference({"metadata": {"name": "n", "uid": "u"}}) == {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "name": "n",
        "uid": "u",
    }
