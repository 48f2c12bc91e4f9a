"""A person who does what `manta doctor --migrate` says, and what KubeRay's chart leaves in a cluster."""

import base64
import gzip
import json
import os
import pathlib
import subprocess
from typing import Any

from tests.integration.clusters import MANTA
from tests.parts.control_plane import ControlPlane
from tests.tools.catalogue import TOOLS

ROOT = pathlib.Path(__file__).parents[2]
STEP_SECONDS = 240
RELEASE = "kuberay-operator"
LABELS = {"app.kubernetes.io/name": "kuberay-operator"}


class Mover:
    """A person with a terminal, who does what doctor says."""

    def __init__(self, plane: ControlPlane, folder: pathlib.Path) -> None:
        self.folder = folder
        paths = [str(pathlib.Path(MANTA).parent), *(str(TOOLS[name].path.parent) for name in ("kubectl", "helm"))]
        self.environment = {
            **os.environ,
            "KUBECONFIG": str(plane.kubeconfig),
            "PATH": os.pathsep.join([*paths, os.environ["PATH"]]),
            "HELM_CACHE_HOME": str(folder / "helm"),
        }

    def run(self, command: str, *, code: int = 0) -> str:
        """Type a command; what it prints."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=STEP_SECONDS,
            check=False,
        )
        assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def install_kuberay(self, system: str, args: list[str], env: list[dict[str, str]]) -> None:
        """What KubeRay's chart leaves in a cluster; its pods run nothing, the program runs beside."""
        container = {
            "name": "kuberay-operator",
            "image": f"quay.io/kuberay/operator:{TOOLS['kuberay'].version}",
            "command": ["/manager"],
            "args": args,
            "env": env,
        }
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": RELEASE,
                "namespace": system,
                "labels": LABELS,
                "annotations": {"meta.helm.sh/release-name": RELEASE},
            },
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": LABELS},
                "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}},
            },
        }
        file = self.folder / "kuberay-operator.json"
        items = [deployment, _release(system, {"metrics": {"serviceMonitor": {"interval": "10s"}}})]
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        self.run(f"kubectl apply -f {file}")
        self.run(f"kubectl -n {system} rollout status deployment {RELEASE} --timeout=120s")

    def plan(self, *flags: str, code: int = 0) -> dict[str, Any]:
        """What doctor says."""
        made: dict[str, Any] = json.loads(self.run(" ".join(["manta doctor --migrate -o json", *flags]), code=code))
        return made


def _release(namespace: str, config: dict[str, Any]) -> dict[str, Any]:
    """What helm keeps of a release."""
    packed = base64.b64encode(gzip.compress(json.dumps({"name": RELEASE, "config": config}).encode()))
    labels = {"owner": "helm", "name": RELEASE, "status": "deployed", "version": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": {"name": f"sh.helm.release.v1.{RELEASE}.v1", "namespace": namespace, "labels": labels},
        "stringData": {"release": packed.decode()},
    }
