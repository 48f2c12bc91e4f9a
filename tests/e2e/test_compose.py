"""docker-compose.yml works with the images of these sources: clusters get ready, replicas share, nothing is left."""

import functools
import pathlib
import subprocess
import urllib.parse
from collections.abc import Iterator

import pytest

from tests.parts import compose, docker
from tests.parts.cluster import Cluster
from tests.parts.process import PartFailed, Unavailable, wait_until
from tests.tools import images, product

pytestmark = pytest.mark.timeout(900)  # a slow machine may have to build the images first
LIMIT_SECONDS = 60
CLUSTERS = "apis/ray.io/v1/namespaces/{}/rayclusters"
HEAD = {"template": {"spec": {"containers": [{"name": "ray-head", "image": "example/ray:2.60.0"}]}}}
SHARED = "cluster-reconciler"


@pytest.fixture
def project(kubernetes: Cluster, ray_crds: None, tmp_path: pathlib.Path) -> Iterator[compose.Compose]:
    """A project whose services look after the control plane; taken down at the end, whatever happened."""
    if not docker.engine_answers():
        pytest.skip("no Docker engine answers")
    try:
        compose.ensure_compose()
        compose.compose_command()
        image = product.ensure("manta")
        images.ensure(images.nats_image())
    except (images.ImageFailed, Unavailable) as error:
        pytest.skip(str(error))
    server = urllib.parse.urlsplit(kubernetes.server)
    with compose.relay(compose.gateway(), server.hostname or "", server.port or 443) as port:
        found = compose.Compose(image, compose.kubeconfig_for_containers(kubernetes, port, tmp_path / "kubeconfig"))
        try:
            yield found
        finally:
            if found.left():
                found.run("down", "--volumes", "--timeout", "5")


def test_clusters_get_ready_replicas_share_the_work_and_nothing_is_left(
    project: compose.Compose, kubernetes: Cluster, namespace: str
) -> None:
    project.run("up", "--detach", "--scale", f"{SHARED}=2")
    try:
        for name in ("one", "two", "three"):
            body = {"metadata": {"name": name}, "spec": {"headGroupSpec": HEAD}}
            kubernetes.request(
                "POST", CLUSTERS.format(namespace), body | {"apiVersion": "ray.io/v1", "kind": "RayCluster"}
            )
        wait_until("the clusters are ready", lambda: _ready(kubernetes, namespace) == 3, limit_seconds=LIMIT_SECONDS)
        wait_until("two replicas share the work", functools.partial(_share, project), limit_seconds=LIMIT_SECONDS)
    except TimeoutError as error:
        raise PartFailed(f"{error}\n{project.run('logs', '--tail', '20')}") from None
    project.run("down", "--volumes", "--timeout", "20")
    assert project.left() == []
    assert _ready(kubernetes, namespace) == 3  # what runs is not touched


def test_the_profile_to_observe_is_complete(tmp_path: pathlib.Path) -> None:
    try:
        command = compose.compose_command()
    except Unavailable:
        compose.ensure_compose()
        command = compose.compose_command()
    done = subprocess.run(
        [*command, "--file", str(compose.FILE), "--profile", "observe", "config"],
        capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        source, _, rest = line.strip().removeprefix("- ").partition(":/")
        if source.startswith("/") and rest.endswith(":ro") and not source.endswith("/kubeconfig"):
            assert pathlib.Path(source).exists(), f"{line.strip()}: there is no such file in the project"
    assert {"prometheus:", "grafana:", "traces:"} <= {line.strip() for line in done.stdout.splitlines()}


def _ready(kubernetes: Cluster, namespace: str) -> int:
    found = kubernetes.request("GET", CLUSTERS.format(namespace))["items"]
    return sum(one.get("status", {}).get("state") == "ready" for one in found)


def _share(project: compose.Compose) -> bool:
    """Whether both replicas own a part of all the partitions."""
    owned = [project.metric(one, "manta_partitions_owned") for one in project.containers(SHARED)]
    return len(owned) == 2 and min(owned) > 0 and sum(owned) == 32
