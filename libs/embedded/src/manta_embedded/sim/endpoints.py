"""EndpointSlices in a world: which pods stand behind each Service, a moment after that has changed."""

import contextvars
import random
from typing import Any

from manta_common.api.labels import ENDPOINT_SLICE_SERVICE
from manta_common.keys import Key
from manta_common.kinds import ENDPOINTSLICE, POD, SERVICE
from manta_common.kube.protocol import MergePatch
from manta_embedded.sim import pods
from manta_embedded.sim.loop import VirtualLoop
from manta_embedded.store.changes import Event
from manta_embedded.store.objects import Obj
from manta_embedded.store.store import Store
from manta_embedded.store.writers import Writer

WRITER = Writer("endpointslice-controller")
FOLLOWED = {("", "pods"), ("", "services")}
LONGEST_SECONDS = 0.1


class EndpointSlices:
    """Keeps one slice for each Service with a selector, as Kubernetes does; it bears the labels of the Service."""

    def __init__(self, store: Store, loop: VirtualLoop, chance: random.Random) -> None:
        self._store, self._loop, self._chance = store, loop, chance
        self._planned = False
        store.subscribe(self._note)

    def _note(self, event: Event) -> None:
        if event.storage in FOLLOWED and not self._planned:
            self._planned = True
            delay = self._chance.uniform(0.0, LONGEST_SECONDS)
            self._loop.call_later(delay, self._turn, context=contextvars.Context())

    def _turn(self) -> None:
        self._planned = False
        for service in list(self._store.objects(SERVICE, "")):
            if (service["spec"].get("selector") or {}) and "deletionTimestamp" not in service["metadata"]:
                self._sync(service)

    def _sync(self, service: Obj) -> None:
        meta = service["metadata"]
        key = Key(meta["namespace"], f"{meta['name']}-slice")
        wanted = [_endpoint(pod) for pod in self._behind(service)]
        found = self._store.find(ENDPOINTSLICE, key)
        if found is None:
            self._store.create(ENDPOINTSLICE, key.namespace, _slice(service, key.name, wanted), WRITER)
        elif found.get("endpoints") != wanted:
            self._store.patch(ENDPOINTSLICE, key, MergePatch({"endpoints": wanted}), WRITER)

    def _behind(self, service: Obj) -> list[Obj]:
        selector = service["spec"]["selector"].items()
        found = self._store.objects(POD, service["metadata"]["namespace"])
        chosen = (pod for pod in found if selector <= (pod["metadata"].get("labels") or {}).items())
        return [pod for pod in chosen if pod.get("status", {}).get("podIP")]


def _endpoint(pod: Obj) -> dict[str, Any]:
    is_going = "deletionTimestamp" in pod["metadata"]
    reference = {"kind": "Pod", "namespace": pod["metadata"]["namespace"], "name": pod["metadata"]["name"]}
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": pods.is_ready(pod) and not is_going},
        "targetRef": reference | {"uid": pod["metadata"]["uid"]},
    }


def _slice(service: Obj, name: str, endpoints: list[dict[str, Any]]) -> dict[str, Any]:
    meta = service["metadata"]
    owner = {"apiVersion": "v1", "kind": "Service", "name": meta["name"], "uid": meta["uid"], "controller": True}
    return {
        "apiVersion": ENDPOINTSLICE.api_version,
        "kind": ENDPOINTSLICE.kind,
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": {**(meta.get("labels") or {}), ENDPOINT_SLICE_SERVICE: meta["name"]},
            "ownerReferences": [owner],
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
    }
