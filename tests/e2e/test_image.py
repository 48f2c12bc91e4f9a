"""Manta's own images on a real node: the chart's pods run a RayJob on real Ray to its end, and clean up."""

import functools
from collections.abc import Iterator
from typing import Any

import pytest
from docker.errors import APIError  # type: ignore[import-untyped]

from tests.parts import docker
from tests.parts.chart import CHART, helm
from tests.parts.cluster import ApiError
from tests.parts.node import RealNode
from tests.parts.process import PartFailed, Unavailable, wait_until
from tests.parts.ray_image import ray_image
from tests.tools import images, product

pytestmark = pytest.mark.timeout(900)  # a slow machine may have to build the images first
UP_LIMIT_SECONDS = 90
JOB_LIMIT_SECONDS = 120
SIZE_LIMITS = {"manta": 180_000_000, "submitter": 55_000_000}
NAME = "answer"
RAYJOBS = "apis/ray.io/v1/namespaces/{}/rayjobs"
ENTRYPOINT = "python -c 'import ray; ray.init(); print(ray.get(ray.remote(lambda: 6 * 7).remote()), \"is the answer\")'"


@pytest.fixture(scope="module")
def local_images(real_node: RealNode, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The node has Manta's images as they are built from these sources, NATS, and Ray; their names."""
    folder = tmp_path_factory.mktemp("images")
    if not docker.engine_answers():
        pytest.skip("no Docker engine answers: Manta's images cannot be built")
    try:
        names = {target: product.ensure(target) for target in product.TARGETS}
        images.ensure(images.nats_image())
        ray = ray_image(folder / "ray")
    except (images.ImageFailed, Unavailable) as error:
        pytest.skip(f"images cannot be built: {error}")
    for name in (*names.values(), images.nats_image()):
        archive = product.save(name, folder / "image.tar")
        real_node.import_archive(archive)
        archive.unlink()
    real_node.import_image(ray)
    return {**names, "nats": images.nats_image(), "ray": ray.name}


@pytest.fixture(scope="module")
def installed(real_node: RealNode, local_images: dict[str, str]) -> Iterator[str]:
    """The chart, installed with these images and one replica of everything; its namespace."""
    repository, tag = local_images["manta"].split(":")
    nats, version = local_images["nats"].split(":")
    values = [f"image.repository={repository}", f"image.tag={tag}", "image.pullPolicy=Never"]
    values += [f"nats.image.repository={nats}", f"nats.image.tag={version}", "nats.command={/nats-server}"]
    services = ("watcher", "cluster-reconciler", "job-reconciler", "serve-reconciler", "dashboard-gateway", "janitor")
    values += [f"services.{service}.replicas=1" for service in services]
    with real_node.fresh_namespace("manta-system") as namespace:
        label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
        real_node.request("PATCH", f"api/v1/namespaces/{namespace}", label, "application/merge-patch+json")
        flags = [part for value in values for part in ("--set", value)]
        helm("install", "manta", str(CHART), "--namespace", namespace, *flags, kubeconfig=real_node.kubeconfig)
        _wait(real_node, "every service is ready", lambda: _all_ready(real_node, namespace), namespace=namespace)
        yield namespace
        helm("uninstall", "manta", "--namespace", namespace, kubeconfig=real_node.kubeconfig)


def ray_job(local_images: dict[str, str]) -> dict[str, Any]:
    """A job on a cluster of its own, submitted by the light-weight submitter, whose cluster goes when it ends."""
    head = {
        "name": "ray-head",
        "image": local_images["ray"],
        "imagePullPolicy": "Never",
        "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"cpu": "1500m", "memory": "3Gi"}},
    }
    submitter = {
        "name": "submitter",
        "image": local_images["submitter"],
        "imagePullPolicy": "Never",
        "command": ["/submitter"],
        "args": ["--", ENTRYPOINT],
    }
    cluster = {
        "headGroupSpec": {
            "rayStartParams": {"num-cpus": "1", "object-store-memory": "100000000"},
            "template": {"spec": {"containers": [head]}},
        }
    }
    spec = {
        "entrypoint": ENTRYPOINT,
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": cluster,
        "submitterPodTemplate": {"spec": {"restartPolicy": "Never", "containers": [submitter]}},
    }
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": NAME}, "spec": spec}


@pytest.mark.parametrize("target", product.TARGETS)
def test_an_image_is_small_and_has_no_shell(local_images: dict[str, str], target: str) -> None:
    with images.client() as found:
        facts = found.images.get(local_images[target]).attrs
        assert (facts["Config"]["User"], facts["Config"]["WorkingDir"]) == ("65532:65532", "/tmp")
        assert facts["Size"] < SIZE_LIMITS[target]
        container = found.containers.create(local_images[target], entrypoint="/bin/sh", network_mode="none")
        try:
            with pytest.raises(APIError, match="no such file"):
                container.start()
        finally:
            container.remove()


def test_the_release_finds_nothing_wrong_with_itself(real_node: RealNode, installed: str) -> None:
    said = helm("test", "manta", "--namespace", installed, kubeconfig=real_node.kubeconfig)
    assert "Phase:          Succeeded" in said, said


def test_a_job_is_submitted_finished_and_cleaned_up(
    real_node: RealNode, node_namespace: str, local_images: dict[str, str], installed: str
) -> None:
    path = RAYJOBS.format(node_namespace)
    real_node.request("POST", path, ray_job(local_images))
    _wait(
        real_node,
        "the job ends",
        lambda: _status(real_node, node_namespace).get("jobDeploymentStatus") in ("Complete", "Failed"),
        limit_seconds=JOB_LIMIT_SECONDS,
        namespace=node_namespace,
    )
    status = _status(real_node, node_namespace)
    assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED"), status
    log = real_node.kubectl("--namespace", node_namespace, "logs", f"job/{NAME}")
    assert "42 is the answer" in log
    assert log.rstrip().endswith(f"SUCC -- Job '{status['jobId']}' succeeded")

    _wait(real_node, "its cluster goes", lambda: _pods(real_node, node_namespace, head=True) == [])
    real_node.request("DELETE", f"{path}/{NAME}")
    _wait(real_node, "all of it goes", lambda: _pods(real_node, node_namespace) == [])
    for path in ("apis/ray.io/v1/namespaces/{}/rayclusters", "api/v1/namespaces/{}/services"):
        is_empty = functools.partial(_is_empty, real_node, path.format(node_namespace))
        _wait(real_node, f"nothing is left of {path}", is_empty)


def _wait(
    node: RealNode, what: str, check: Any, *, limit_seconds: float = UP_LIMIT_SECONDS, namespace: str = ""
) -> None:
    """Wait; when that was in vain, say how the pods of the namespace are."""
    try:
        wait_until(what, check, limit_seconds=limit_seconds)
    except TimeoutError as error:
        said = node.kubectl("describe", "pods", "--namespace", namespace) if namespace else node.log_tail()
        raise PartFailed(f"{error}\n{said[-6000:]}") from None


def _all_ready(node: RealNode, namespace: str) -> bool:
    found = node.request("GET", f"apis/apps/v1/namespaces/{namespace}/deployments")["items"]
    return len(found) == 6 and all(one["status"].get("readyReplicas") == 1 for one in found)


def _status(node: RealNode, namespace: str) -> dict[str, Any]:
    found: dict[str, Any] = node.request("GET", f"{RAYJOBS.format(namespace)}/{NAME}").get("status", {})
    return found


def _pods(node: RealNode, namespace: str, *, head: bool = False) -> list[str]:
    selector = "?labelSelector=ray.io/node-type=head" if head else ""
    return _names(node, f"api/v1/namespaces/{namespace}/pods{selector}")


def _is_empty(node: RealNode, path: str) -> bool:
    return _names(node, path) == []


def _names(node: RealNode, path: str) -> list[str]:
    try:
        return [one["metadata"]["name"] for one in node.request("GET", path)["items"]]
    except ApiError as error:
        raise PartFailed(f"{path}: {error}") from error
