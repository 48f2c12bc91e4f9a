"""Kubeconfig files with a bearer token, as every part of the tests uses them."""

import json
import pathlib


def write_kubeconfig(path: pathlib.Path, *, server: str, ca: pathlib.Path, token: str) -> pathlib.Path:
    """Write a kubeconfig for one server and one user; JSON is YAML too."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": str(ca)}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }
    path.write_text(json.dumps(document, indent=2))
    path.chmod(0o600)
    return path
