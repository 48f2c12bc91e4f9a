"""A way into a Kubernetes cluster as its administrator, whoever started the cluster."""

import base64
import contextlib
import json
import os
import pathlib
import secrets
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from tests.parts.patience import patient
from tests.parts.process import Unavailable
from tests.tools.catalogue import TOOLS

CALL_SECONDS = 30
KUBECTL_SECONDS = 60


class ApiError(Exception):
    """The API server refused; carries the code and the Status it answered with."""

    def __init__(self, code: int, status: dict[str, Any]) -> None:
        super().__init__(f"{code} {status.get('reason')}: {status.get('message')}")
        self.code, self.status = code, status


class Cluster:
    """A way into some Kubernetes cluster as its administrator."""

    def __init__(self, origin: str, *, server: str, ca: pathlib.Path, token: str, kubeconfig: pathlib.Path) -> None:
        self.origin, self.server, self.ca, self.token, self.kubeconfig = origin, server, ca, token, kubeconfig
        self.tls = ssl.create_default_context(cafile=str(ca))
        self.ending: Callable[[], object] = lambda: None

    def request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """One call of the API as administrator; ApiError when it is refused."""
        request = urllib.request.Request(
            f"{self.server}/{path.lstrip('/')}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": content_type},
        )
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=patient(CALL_SECONDS)) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                raise ApiError(error.code, _status(error.read())) from None
        return json.loads(text) if text.startswith(("{", "[")) else text

    def find(self, path: str) -> dict[str, Any] | None:
        """An object, if it is there."""
        try:
            found: dict[str, Any] = self.request("GET", path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        return found

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run the pinned kubectl against this cluster; its output, or CalledProcessError."""
        done = subprocess.run(
            [str(TOOLS["kubectl"].path), "--kubeconfig", str(self.kubeconfig), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=patient(KUBECTL_SECONDS),
            check=False,
        )
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, arguments, done.stdout, done.stderr)
        return done.stdout

    def service_account_token(self, namespace: str, name: str) -> str:
        """A token that lets a test act as a service account."""
        path = f"api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        answer = self.request(
            "POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        )
        token: str = answer["status"]["token"]
        return token

    @contextlib.contextmanager
    def fresh_namespace(self, stem: str) -> Iterator[str]:
        """A namespace of its own; deleted, without waiting, at the end."""
        name = f"{stem[:40].strip('-')}-{secrets.token_hex(3)}"
        self.request("POST", "api/v1/namespaces", {"metadata": {"name": name}})
        yield name
        self.request("DELETE", f"api/v1/namespaces/{name}")

    def stop(self) -> None:
        """End what was started for it; nothing, when the cluster is somebody else's."""
        self.ending()

    def log_tail(self) -> str:
        """No log: the cluster is somebody else's."""
        return "(not started by the tests)"


def given_cluster(kubeconfig: pathlib.Path, folder: pathlib.Path) -> Cluster:
    """The cluster of a kubeconfig that uses a bearer token or a client certificate."""
    try:
        config = yaml.safe_load(kubeconfig.read_text())
        context = next(c["context"] for c in config["contexts"] if c["name"] == config["current-context"])
        place = next(c["cluster"] for c in config["clusters"] if c["name"] == context["cluster"])
        user = next(u["user"] for u in config["users"] if u["name"] == context["user"])
    except (OSError, yaml.YAMLError, KeyError, StopIteration, TypeError) as error:
        raise Unavailable(f"MANTA_TEST_KUBECONFIG={kubeconfig} cannot be used: {error!r}") from error
    folder.mkdir(parents=True, exist_ok=True)
    ca = _file(place, "certificate-authority", folder)
    if ca is None:
        raise Unavailable(f"{kubeconfig}: the cluster needs certificate-authority or certificate-authority-data")
    found = Cluster(
        f"the cluster of {kubeconfig}",
        server=place["server"].rstrip("/"),
        ca=ca,
        token=user.get("token", ""),
        kubeconfig=kubeconfig,
    )
    certificate, key = _file(user, "client-certificate", folder), _file(user, "client-key", folder)
    if certificate and key:
        found.tls.load_cert_chain(certificate, key)
    return found


def k3s_cluster(folder: pathlib.Path) -> Cluster:
    """Start K3s through testcontainers."""
    from testcontainers.k3s import K3SContainer  # noqa: PLC0415  only when asked for: it needs an engine

    container = K3SContainer(os.environ.get("MANTA_TEST_K3S_IMAGE", "rancher/k3s:v1.36.1-k3s1"))
    try:
        container.start()
    except Exception as error:  # whatever the engine says, the part cannot be had
        raise Unavailable(f"K3s cannot be started: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    kubeconfig = folder / "k3s.kubeconfig"
    kubeconfig.write_text(container.config_yaml())
    found = given_cluster(kubeconfig, folder)
    found.origin, found.ending = f"{container.image} in a container (testcontainers)", container.stop
    return found


def _file(section: dict[str, str], name: str, folder: pathlib.Path) -> pathlib.Path | None:
    """The file that a kubeconfig names, or one made of the data it holds."""
    if name in section:
        return pathlib.Path(section[name])
    if f"{name}-data" not in section:
        return None
    path = folder / f"{name}.pem"
    path.write_bytes(base64.b64decode(section[f"{name}-data"]))
    return path


def _status(body: bytes) -> dict[str, Any]:
    try:
        status: dict[str, Any] = json.loads(body)
    except ValueError:
        return {"message": body.decode(errors="replace")}
    return status
