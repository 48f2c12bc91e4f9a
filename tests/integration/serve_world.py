"""A real Ray Serve application as a RayService on a process node."""

import json
from typing import Any

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, POD, RAYCLUSTER, RAYSERVICE, SERVICE
from manta_common.kube.protocol import MergePatch
from manta_embedded.store.objects import Obj
from tests.integration.node_ray import RAY_VERSION, RayWorld

NAME = Key("default", "greeter")
SERVE = Key("default", "greeter-serve-svc")
APPLICATION = """
import os

from ray import serve


@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Greeter:
    def __init__(self):
        self.word = ""

    def reconfigure(self, config):
        self.word = config["word"]

    async def __call__(self, request):
        return {"word": self.word, "release": os.environ["RELEASE"]}


app = Greeter.bind()
"""
ROOM = {"limits": {"cpu": "1", "memory": "3Gi"}, "requests": {"cpu": "1", "memory": "3Gi"}}
SERVE_SECONDS = 150.0  # Ray and Serve start, on a busy machine more than once
DELAY_SECONDS = 8  # longer than any answer takes, on a slow machine too
GRACE_SECONDS = 5


class ServeWorld:
    """One RayService, whose word and release can be changed: the one in place, the other by another cluster."""

    def __init__(self, world: RayWorld) -> None:
        self.world = world

    def create(self, *, word: str, release: str) -> None:
        """Create the application and its RayService."""
        self.world.create(CONFIGMAP, {"metadata": {"name": "code"}, "data": {"greeter.py": APPLICATION}})
        spec = {
            "rayClusterDeletionDelaySeconds": DELAY_SECONDS,
            "serveConfigV2": serve_config(word),
            "rayClusterConfig": cluster_config(release),
        }
        kind = {"apiVersion": "ray.io/v1", "kind": "RayService"}
        self.world.create(RAYSERVICE, {**kind, "metadata": {"name": NAME.name}, "spec": spec})

    def change(self, *, word: str | None = None, release: str | None = None) -> None:
        """Edit the RayService."""
        spec: dict[str, Any] = {}
        if word is not None:
            spec["serveConfigV2"] = serve_config(word)
        if release is not None:
            spec["rayClusterConfig"] = cluster_config(release)
        self.world.store.patch(RAYSERVICE, NAME, MergePatch({"spec": spec}))

    @property
    def status(self) -> Obj:
        """What the RayService says of itself."""
        found: Obj = self.world.store.get(RAYSERVICE, NAME).get("status") or {}
        return found

    def condition(self, kind: str) -> str:
        """The status of one condition."""
        found = self.status.get("conditions") or ()
        return next((str(one["status"]) for one in found if one["type"] == kind), "")

    @property
    def active(self) -> str:
        """The cluster that serves."""
        return str((self.status.get("activeServiceStatus") or {}).get("rayClusterName", ""))

    @property
    def pending(self) -> str:
        """The cluster to come."""
        return str((self.status.get("pendingServiceStatus") or {}).get("rayClusterName", ""))

    @property
    def applications(self) -> dict[str, str]:
        """How the applications of the cluster that serves are."""
        found = self.status["activeServiceStatus"].get("applicationStatuses") or {}
        return {name: one["status"] for name, one in found.items()}

    @property
    def is_current(self) -> bool:
        """Whether its status speaks of the spec as it is."""
        generation = self.world.store.get(RAYSERVICE, NAME)["metadata"]["generation"]
        return bool(self.status.get("observedGeneration") == generation)

    @property
    def clusters(self) -> set[str]:
        """All clusters that are there."""
        return {one["metadata"]["name"] for one in self.world.store.objects(RAYCLUSTER)}

    def head(self, cluster: str) -> str:
        """The name of a cluster's head pod; empty when it has none."""
        found = (
            pod["metadata"]
            for pod in self.world.store.objects(POD)
            if pod["metadata"]["labels"].get("ray.io/cluster") == cluster
        )
        return next((str(meta["name"]) for meta in found if not meta.get("deletionTimestamp")), "")

    async def until_ready(self, *, but: str = "") -> str:
        """Wait until it serves by a cluster other than `but`; the cluster."""

        def serves() -> bool:
            return self.condition("Ready") == "True" and bool(self.active) and self.active != but and not self.pending

        await self.world.until("the RayService serves", serves, SERVE_SECONDS)
        return self.active

    async def until_gone(self, cluster: str) -> None:
        """Wait until nothing of a cluster is left."""
        await self.world.until(f"{cluster} is gone", lambda: cluster not in self.clusters, SERVE_SECONDS)
        await self.world.until(f"the pods of {cluster} are gone", lambda: not self._pods(cluster), SERVE_SECONDS)

    def _pods(self, cluster: str) -> list[Obj]:
        pods = self.world.store.objects(POD)
        return [pod for pod in pods if pod["metadata"]["labels"].get("ray.io/cluster") == cluster]

    @property
    def addresses(self) -> tuple[str, str]:
        """Where Serve is reached: by the Service's own address, and by its port on this machine."""
        spec = self.world.store.get(SERVICE, SERVE)["spec"]
        (port,) = (one for one in spec["ports"] if one["name"] == "serve")
        return f"http://{spec['clusterIP']}:{port['port']}/", f"http://127.0.0.1:{port['nodePort']}/"


def serve_config(word: str) -> str:
    """What Serve is to run."""
    deployment = {"name": "Greeter", "num_replicas": 1, "graceful_shutdown_timeout_s": 5, "user_config": {"word": word}}
    application = {"name": "greeter", "import_path": "greeter:app", "route_prefix": "/", "deployments": [deployment]}
    return json.dumps({"applications": [application]})


def cluster_config(release: str) -> Obj:
    """A cluster of a head alone; another release is another cluster."""
    ports = {"gcs-server": 6379, "dashboard": 8265, "client": 10001, "serve": 8000}
    head = {
        "name": "ray-head",
        "image": f"rayproject/ray:{RAY_VERSION}",
        "resources": ROOM,
        "env": [{"name": "PYTHONPATH", "value": "/home/ray/apps"}, {"name": "RELEASE", "value": release}],
        "ports": [{"name": name, "containerPort": number} for name, number in ports.items()],
        "volumeMounts": [{"name": "code", "mountPath": "/home/ray/apps"}],
    }
    volumes = [{"name": "code", "configMap": {"name": "code"}}]
    template = {"spec": {"containers": [head], "volumes": volumes, "terminationGracePeriodSeconds": GRACE_SECONDS}}
    group = {"rayStartParams": {"num-cpus": "1"}, "serviceType": "NodePort", "template": template}
    return {"rayVersion": RAY_VERSION, "headGroupSpec": group}
