"""Hooks of a release: what helm makes for them is made, and their command runs here as their own service account."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator

import yaml

from tests.parts.chart import MANTA, Installed, Json, helm
from tests.parts.patience import patient

LIMIT_SECONDS = 60


def run_hook(release: Installed, when: str) -> subprocess.CompletedProcess[str]:
    """Run the command of the only hook of a kind (`test`, `pre-upgrade`) with just the rights that it has."""
    objects = _hooks(release, when)
    (work,) = (one for one in objects if one["kind"] in ("Pod", "Job"))
    spec = work["spec"] if work["kind"] == "Pod" else work["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    with _made(release, [one for one in objects if one is not work]):
        environment = {"KUBECONFIG": str(release.kubeconfig_of(spec["serviceAccountName"]))}
        if any(one["name"] == "MANTA_NATS_URLS" for one in container.get("env", ())):
            environment["MANTA_NATS_URLS"] = release.nats_url("doctor")
        return subprocess.run(
            [MANTA, *container["args"]],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=patient(LIMIT_SECONDS),
            check=False,
        )


def _hooks(release: Installed, when: str) -> list[Json]:
    text = helm("get", "hooks", release.fullname, "-n", release.namespace, kubeconfig=release.plane.kubeconfig)
    found = [one for one in yaml.safe_load_all(text) if one]
    return [one for one in found if one["metadata"]["annotations"]["helm.sh/hook"] == when]


@contextlib.contextmanager
def _made(release: Installed, objects: list[Json]) -> Iterator[None]:
    whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    release.plane.kubectl("apply", "-f", "-", stdin=whole)
    try:
        yield
    finally:
        release.plane.kubectl("delete", "-f", "-", stdin=whole)
