"""An authority of our own and a certificate of it for the addresses that the API has."""

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=3650)
RENEWED = timedelta(days=30)  # before the end
SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
ALWAYS = ("127.0.0.1", "::1", "10.96.0.1", "localhost", *SERVICE_NAMES)


def ensure(folder: Path, names: Sequence[str]) -> tuple[Path, Path]:
    """The authority's certificate, and the server's with its key; made when they are not there or not for all names."""
    ca, server = folder / "ca.pem", folder / "server.pem"
    wanted = list(dict.fromkeys((*ALWAYS, *names)))
    if not (ca.exists() and server.exists() and _is_good(server.read_bytes(), wanted)):
        authority, certificate = _made(wanted)
        _write(server, certificate)
        _write(ca, authority)
    return ca, server


def _is_good(pem: bytes, names: Sequence[str]) -> bool:
    try:
        found = x509.load_pem_x509_certificate(pem)
    except ValueError:
        return False
    known = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    told = {*known.get_values_for_type(x509.DNSName), *map(str, known.get_values_for_type(x509.IPAddress))}
    return set(names) <= told and datetime.now(UTC) + RENEWED < found.not_valid_after_utc


def _made(names: Sequence[str]) -> tuple[bytes, bytes]:
    """Both as text. The authority's key is thrown away: it never signs again."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name = _name("manta standalone authority")
    authority = (
        _begun(authority_name, authority_name, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    certificate = (
        _begun(_name("manta standalone API"), authority_name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    private = key.private_bytes(pem, form, serialization.NoEncryption())
    return authority.public_bytes(pem), certificate.public_bytes(pem) + private


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + LIFETIME)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write(path: Path, text: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(text)
