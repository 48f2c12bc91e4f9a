"""What is run for a container."""

import pathlib
from typing import Any

import msgspec
import pytest

from manta_embedded.node import launching
from manta_embedded.node.ability import NOTHING
from manta_embedded.node.env import Sources
from manta_embedded.node.faults import CannotStart
from manta_embedded.node.files import PodFiles
from manta_embedded.node.launching import Pack
from manta_embedded.node.settings import Api, NodeSettings
from manta_embedded.node.volumes import Volume

POD: dict[str, Any] = {
    "metadata": {"name": "one", "namespace": "ns", "uid": "u"},
    "spec": {"containers": [], "automountServiceAccountToken": False},
}


@pytest.fixture
def pack(tmp_path: pathlib.Path) -> Pack:
    programs = tmp_path / "bin"
    programs.mkdir()
    api = Api(host="10.244.0.1", port=6443)
    settings = NodeSettings(folder=tmp_path, programs=str(programs), api=api)
    volumes = {"v": Volume(name="v"), "shm": Volume(name="shm")}
    return Pack(pod=POD, settings=settings, files=PodFiles(tmp_path, POD), sources=Sources(), volumes=volumes)


def container(*command: str, **more: Any) -> dict[str, Any]:
    """A container with a command."""
    return {"name": "main", "image": "i:1", "command": list(command), **more}


def test_command_and_environment(pack: Pack) -> None:
    found = launching.plan(pack, container("echo", args=["$(HOSTNAME)", "$(NONE)"]), 0)
    assert found["argv"] == ["echo", "one", "$(NONE)"]
    assert found["env"]["PATH"].startswith(pack.settings.programs)
    assert found["env"]["KUBERNETES_SERVICE_PORT_HTTPS"] == "6443"
    assert found["cwd"] == "/tmp"


def test_ray_is_told_how_much_memory_its_objects_may_take(pack: Pack) -> None:
    found = launching.plan(pack, container("true", resources={"limits": {"memory": "1000"}}), 0)
    assert found["env"]["RAY_DEFAULT_OBJECT_STORE_MAX_MEMORY_BYTES"] == "300"


def test_the_way_out_is_for_https_only(pack: Pack) -> None:
    settings = msgspec.structs.replace(pack.settings, proxy="http://10.244.0.1:3128")
    found = launching.plan(msgspec.structs.replace(pack, settings=settings), container("true"), 0)["env"]
    assert found["HTTPS_PROXY"] == found["https_proxy"] == "http://10.244.0.1:3128"
    assert "HTTP_PROXY" not in found
    assert found["NO_PROXY"] == "localhost,127.0.0.1,10.244.0.1,10.244.0.0/16,.svc,.cluster.local"


def test_mounts(pack: Pack) -> None:
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "v", "mountPath": "/data", "subPath": "a"}]
    found = launching.plan(pack, container("true", volumeMounts=mounts), 0)
    targets = {one["target"]: one["source"] for one in found["mounts"]}
    assert targets["/dev/shm"] == str(pack.files.folder / "volumes" / "shm")
    assert targets["/data"] == str(pack.files.folder / "volumes" / "v" / "a")
    assert {"/tmp", "/run", "/etc/hosts", "/etc/resolv.conf", "/dev/termination-log"} <= targets.keys()


@pytest.mark.parametrize(
    ("given", "reason", "words"),
    [
        (
            container("bash", "-c", "ulimit -n 1; ray start --head"),
            "ErrImagePull",
            'pip install "ray\\[default,serve\\]"',
        ),
        ({"name": "main", "image": "redis:7"}, "ErrImagePull", 'what "redis:7" would run is not known here'),
        (
            container("true", volumeMounts=[{"name": "none", "mountPath": "/x"}]),
            "CreateContainerConfigError",
            'there is no volume "none"',
        ),
    ],
)
def test_what_cannot_be_run_says_what_to_do(pack: Pack, given: dict[str, Any], reason: str, words: str) -> None:
    with pytest.raises(CannotStart, match=words) as refused:
        launching.plan(pack, given, 0)
    assert refused.value.reason == reason


def test_without_mounts_of_its_own(pack: Pack) -> None:
    plain = msgspec.structs.replace(pack, settings=msgspec.structs.replace(pack.settings, spaces=NOTHING))
    shared = container("true", volumeMounts=[{"name": "shm", "mountPath": "/dev/shm"}])
    assert launching.plan(plain, shared, 0)["mounts"] == []
    worker = container("echo", args=["--address=demo-head-svc.default.svc.cluster.local:6379", "$(HEAD) example.com"])
    given = {**worker, "env": [{"name": "HEAD", "value": "a.b.svc"}]}
    assert launching.plan(plain, given, 0)["argv"] == ["echo", "--address=127.0.0.1:6379", "127.0.0.1 example.com"]
    with pytest.raises(CannotStart, match=r"cannot be mounted at /data.*Run manta on Linux as root"):
        launching.plan(plain, container("true", volumeMounts=[{"name": "v", "mountPath": "/data"}]), 0)


def test_a_security_context_that_is_not_heeded_is_told() -> None:
    pod = {"metadata": {}, "spec": {"securityContext": {"fsGroup": 1}}}
    assert launching.creation_note({"spec": {}}, container("x")) == "Container created"
    assert "its securityContext (fsGroup, runAsUser) is not heeded" in launching.creation_note(
        pod, container("x", securityContext={"runAsUser": 1000})
    )
