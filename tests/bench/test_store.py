"""The API in memory: how many objects fit, how fast they are written, and what a day of small clusters takes."""

import gc
import pathlib
import random
import subprocess
import sys
import time
from typing import Any

import msgspec

from manta_common.api.core import Pod
from manta_common.keys import Key
from manta_common.kinds import CRD, JOB, NAMESPACE, POD, RAYCLUSTER, SERVICE
from manta_common.kube.protocol import Apply, JsonPatch, MergePatch
from manta_embedded.store.bodies import encoded
from manta_embedded.store.controllers.plane import Controllers
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.objects import Obj
from manta_embedded.store.queries import Query
from manta_embedded.store.schema.custom import CustomResources
from manta_embedded.store.schema.ray import definitions
from manta_embedded.store.store import Store
from tests.contract.api.api import HandClock

OBJECTS, MEMORY_MIB = 50_000, 500
CLUSTERS, PODS, JOBS, SCENARIO_SECONDS = 10, 5, 10, 0.5
ROUNDS = 2_000


def worker(name: str, owner: Obj | None = None) -> Obj:
    """A pod of the size that Ray's workers have."""
    env = [{"name": f"RAY_VARIABLE_{number}", "value": f"value {number}"} for number in range(15)]
    container = {
        "name": "ray-worker",
        "image": "example/ray:2.60.0",
        "env": env,
        "resources": {"limits": {"cpu": "2", "memory": "8Gi"}},
        "volumeMounts": [{"name": "logs", "mountPath": "/tmp/ray"}],
    }
    labels = {"ray.io/cluster": "one", "ray.io/node-type": "worker", "ray.io/group": "g", "ray.io/is-ray-node": "yes"}
    meta: Obj = {"name": name, "labels": labels}
    if owner:
        named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
        meta["ownerReferences"] = [{**named, "uid": owner["metadata"]["uid"], "controller": True}]
    return fresh(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta,
            "spec": {"containers": [container], "volumes": [{"name": "logs", "emptyDir": {}}]},
        }
    )


def fresh(body: Obj) -> Obj:
    """A body as it comes off the wire."""
    return msgspec.json.decode(msgspec.json.encode(body), type=dict[str, Any])


def opened() -> Store:
    store = Store(HandClock(), random.Random(0))
    store.create(NAMESPACE, "", {"metadata": {"name": "bench"}})
    return store


def resident_mib() -> float:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def fill() -> None:
    """Say how much memory so many pods take, each scheduled, started and read once."""
    store = opened()
    gc.collect()
    before = resident_mib()
    for number in range(OBJECTS):
        key = Key("bench", f"pod-{number:05}")
        store.create(POD, "bench", worker(key.name))
        store.bind(key, "node-1")
        store.patch(POD, key, MergePatch({"status": {"phase": "Running", "podIP": "10.0.0.1"}}), subresource="status")
    print(resident_mib() - before)


def test_fifty_thousand_pods_fit_into_500_mib() -> None:
    text = "from tests.bench.test_store import fill; fill()"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=280)
    used = float(done.stdout)
    print(f"\n{OBJECTS} pods with two changes each: {used:.0f} MiB, {used * 1024 / OBJECTS:.1f} KiB each")
    assert used < MEMORY_MIB


def rate(what: str, act: Any) -> None:
    gc.collect()
    began_at = time.perf_counter()
    for number in range(ROUNDS):
        act(number)
    each = (time.perf_counter() - began_at) / ROUNDS
    print(f"{what:<44}{each * 1e6:8.1f} us {1 / each:10.0f} a second")


def test_rates() -> None:
    store = opened()
    key = Key("bench", "pod-0")
    bodies = [worker(f"pod-{number}") for number in range(ROUNDS)]
    print()
    rate("create of a pod", lambda number: store.create(POD, "bench", bodies[number]))
    rate(
        "merge patch of a pod's status",
        lambda number: store.patch(POD, key, MergePatch({"status": {"podIP": str(number)}}), subresource="status"),
    )
    step = {"op": "add", "path": "/metadata/labels/n"}
    rate("JSON patch of a label", lambda number: store.patch(POD, key, JsonPatch(({**step, "value": str(number)},))))
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "one"}}
    rate(
        "apply of a service",
        lambda number: store.patch(
            SERVICE,
            Key("bench", "one"),
            Apply({**service, "spec": {"ports": [{"port": 80, "targetPort": number + 1}]}}, "bench"),
        ),
    )
    rate("get of a pod", lambda _: store.get(POD, key))
    rate("get, encoded and decoded into a type", lambda _: msgspec.json.decode(_brief(store.get(POD, key)), type=Pod))
    gc.collect()
    began_at = time.perf_counter()
    found = store.list(POD, Query(namespace="bench", labels="ray.io/cluster=one,ray.io/node-type in (worker)"))
    each = (time.perf_counter() - began_at) / len(found.items)
    print(f"{'list by labels, each object':<44}{each * 1e6:8.1f} us {1 / each:10.0f} a second")
    rate("delete of a pod", lambda number: store.delete(POD, Key("bench", f"pod-{number}")))
    assert len(found.items) == ROUNDS


def _brief(obj: Obj) -> bytes:
    return encoded(obj, managed=False)


def life(store: Store, controllers: Controllers) -> None:
    """Ten clusters of five pods and ten jobs, from nothing to nothing."""
    kind = RAYCLUSTER
    for number in range(CLUSTERS):
        body = {"apiVersion": kind.api_version, "kind": "RayCluster", "metadata": {"name": f"c{number}"}}
        head = {"rayStartParams": {}, "template": {"spec": worker("unused")["spec"]}}
        owner = store.create(kind, "bench", {**body, "spec": {"headGroupSpec": head}})
        for index in range(PODS):
            run_pod(store, store.create(POD, "bench", worker(f"c{number}-{index}", owner)))
        store.patch(kind, Key("bench", f"c{number}"), MergePatch({"status": {"state": "ready"}}), subresource="status")
    for number in range(JOBS):
        template = {"spec": {**worker("unused")["spec"], "restartPolicy": "Never"}}
        body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": f"j{number}"}}
        store.create(JOB, "bench", {**body, "spec": {"template": template}})
    controllers.settle()
    for pod in [pod for pod in store.objects(POD, "bench") if "nodeName" not in pod["spec"]]:
        run_pod(store, pod, "Succeeded")
    controllers.settle()
    for owned in (kind, JOB):
        for obj in list(store.objects(owned, "bench")):
            store.delete(owned, Key("bench", obj["metadata"]["name"]))
    controllers.settle()
    for pod in list(store.objects(POD, "bench")):
        store.delete(POD, Key("bench", pod["metadata"]["name"]), Deletion(grace_seconds=0))
    controllers.settle()


def run_pod(store: Store, pod: Obj, *more: str) -> None:
    key = Key("bench", pod["metadata"]["name"])
    store.bind(key, "node-1")
    for phase in ("Running", *more):
        store.patch(POD, key, MergePatch({"status": {"phase": phase, "podIP": "10.0.0.1"}}), subresource="status")


def test_ten_clusters_and_ten_jobs_from_nothing_to_nothing() -> None:
    crds = definitions()
    times = []
    for _ in range(5):
        gc.collect()
        began_at = time.perf_counter()
        store = opened()
        store.admissions.append(CustomResources(validate=False, cel=False))
        controllers = Controllers(store)
        store.create(CRD, "", next(one for one in crds if one["spec"]["names"]["kind"] == "RayCluster"))
        life(store, controllers)
        times.append(time.perf_counter() - began_at)
        left = [*store.objects(POD, "bench"), *store.objects(JOB, "bench"), *store.objects(RAYCLUSTER, "bench")]
        assert left == []
    print(
        f"\n{CLUSTERS} clusters of {PODS} pods and {JOBS} jobs: {min(times) * 1000:.0f} ms ({store.version} versions)"
    )
    assert min(times) < SCENARIO_SECONDS
