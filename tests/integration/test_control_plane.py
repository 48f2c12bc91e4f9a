"""The control plane of the tests is real: pods run, faults strike, rights count, and what was stored survives."""

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.parts.cluster import ApiError, Cluster
from tests.parts.control_plane import ControlPlane
from tests.parts.fault_proxy import Fault, FaultProxy
from tests.parts.patience import patient
from tests.parts.process import wait_until

WATCH_SECONDS, FROZEN_SECONDS = 20, 2
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {"containers": [{"name": "main", "image": "example/none:1"}]},
}


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultProxy]:
    yield control_plane.proxy
    control_plane.proxy.clear()


@pytest.fixture
def proxied(control_plane: ControlPlane, proxy: FaultProxy) -> Cluster:
    return Cluster(
        "through the fault proxy",
        server=proxy.url,
        ca=control_plane.ca,
        token=control_plane.token,
        kubeconfig=control_plane.proxy_kubeconfig,
    )


def pod_phase(cluster: Cluster, namespace: str) -> str:
    status: dict[str, Any] = cluster.request("GET", f"api/v1/namespaces/{namespace}/pods/one").get("status", {})
    return str(status.get("phase"))


def test_kwok_runs_a_pod(kubernetes: Cluster, namespace: str) -> None:
    kubernetes.request("POST", f"api/v1/namespaces/{namespace}/pods", POD)
    wait_until("the pod runs", lambda: pod_phase(kubernetes, namespace) == "Running", limit_seconds=30)


def test_kwok_completes_the_pod_of_a_job(control_plane: ControlPlane, namespace: str) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example/none:1"}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": template}}
    path = f"apis/batch/v1/namespaces/{namespace}/jobs"
    control_plane.request("POST", path, job)
    wait_until(
        "the job succeeds",
        lambda: control_plane.request("GET", f"{path}/once")["status"].get("succeeded") == 1,
        limit_seconds=30,
    )


def test_kubectl_sees_the_nodes(control_plane: ControlPlane) -> None:
    assert len(json.loads(control_plane.kubectl("get", "nodes", "-o", "json"))["items"]) == 40


def test_a_user_without_rights_is_refused(control_plane: ControlPlane) -> None:
    nobody = ("--token", control_plane.tokens["nobody"])
    with pytest.raises(subprocess.CalledProcessError) as refusal:
        control_plane.kubectl("get", "pods", *nobody)
    assert "Forbidden" in refusal.value.stderr


def test_a_service_account_gets_the_rights_of_its_role(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("create", "serviceaccount", "reader", "-n", namespace)
    control_plane.kubectl("create", "role", "reader", "--verb=get", "--resource=configmaps", "-n", namespace)
    control_plane.kubectl(
        "create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={namespace}:reader", "-n", namespace
    )
    as_reader = ("--token", control_plane.service_account_token(namespace, "reader"), "-n", namespace)
    wait_until("the role counts", lambda: can(control_plane, "get", *as_reader), limit_seconds=10)
    assert not can(control_plane, "delete", *as_reader)


def can(cluster: Cluster, verb: str, *flags: str) -> bool:
    try:
        return cluster.kubectl("auth", "can-i", verb, "configmaps", *flags).strip() == "yes"
    except subprocess.CalledProcessError:
        return False


def test_the_proxy_refuses_with_429_as_often_as_told(proxied: Cluster, proxy: FaultProxy) -> None:
    fault = proxy.inject(Fault(path="/api/v1/nodes", status=429, retry_after=1, times=1))
    with pytest.raises(ApiError) as refusal:
        proxied.request("GET", "api/v1/nodes")
    assert refusal.value.code == 429
    assert len(proxied.request("GET", "api/v1/nodes")["items"]) == 40
    assert fault.hits == 1


def test_the_proxy_loses_the_answer_to_an_applied_write(proxied: Cluster, proxy: FaultProxy, namespace: str) -> None:
    path = f"api/v1/namespaces/{namespace}/configmaps"
    proxy.inject(Fault(path=path, method="POST", status=504, applied=True, times=1))
    with pytest.raises(ApiError) as lost:
        proxied.request("POST", path, {"metadata": {"name": "kept"}})
    assert lost.value.code == 504
    assert proxied.request("GET", f"{path}/kept")["metadata"]["name"] == "kept"


def test_the_proxy_drops_a_watch(proxied: Cluster, proxy: FaultProxy, namespace: str) -> None:
    with open_watch(proxied, namespace) as watch:
        proxied.request("POST", f"api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "seen"}})
        assert next_name(watch) == "seen"
        assert proxy.drop_watches() >= 1
        with pytest.raises(ConnectionError):
            require_line(watch)


def test_the_proxy_freezes_a_watch_and_thaws_it(proxied: Cluster, proxy: FaultProxy, namespace: str) -> None:
    path = f"api/v1/namespaces/{namespace}/configmaps"
    with open_watch(proxied, namespace) as watch:
        proxied.request("POST", path, {"metadata": {"name": "before"}})
        assert next_name(watch) == "before"
        proxy.freeze_watches()
        proxied.request("POST", path, {"metadata": {"name": "during"}})
        watch.fp.raw._sock.settimeout(FROZEN_SECONDS)
        with pytest.raises(TimeoutError):
            watch.readline()
    proxy.clear()
    with open_watch(proxied, namespace) as watch:
        assert {next_name(watch), next_name(watch)} >= {"before", "during"} - {"kube-root-ca.crt"}


def open_watch(cluster: Cluster, namespace: str) -> Any:
    selector = "fieldSelector=metadata.name!=kube-root-ca.crt"
    request = urllib.request.Request(
        f"{cluster.server}/api/v1/namespaces/{namespace}/configmaps?watch=1&{selector}",
        headers={"Authorization": f"Bearer {cluster.token}"},
    )
    return urllib.request.urlopen(request, context=cluster.tls, timeout=patient(WATCH_SECONDS))


def require_line(watch: Any) -> str:
    """The next line of a watch; a watch that ended is an error too."""
    line: bytes = watch.readline()
    if not line:
        raise ConnectionError("the watch ended")
    return line.decode()


def next_name(watch: Any) -> str:
    return str(json.loads(require_line(watch))["object"]["metadata"]["name"])


def test_the_api_server_can_be_killed_and_comes_back_with_its_objects(
    control_plane: ControlPlane, namespace: str
) -> None:
    path = f"api/v1/namespaces/{namespace}/configmaps"
    control_plane.request("POST", path, {"metadata": {"name": "kept"}})
    control_plane.kill_api_server()
    try:
        with pytest.raises(OSError, match="refused"):
            control_plane.request("GET", path)
    finally:
        control_plane.start_api_server()
    assert control_plane.request("GET", f"{path}/kept")["metadata"]["name"] == "kept"
