"""What is mounted where."""

from typing import Any

import pytest

from manta_embedded.node import volumes
from manta_embedded.node.env import Sources
from manta_embedded.node.faults import CannotStart
from manta_embedded.node.volumes import ACCOUNT_PATH, ACCOUNT_VOLUME, Facts, File, Mount, Token, Volume

FACTS = Facts(sources=Sources(configmaps={"code": {"data": {"a.py": "A", "b.py": "B"}}}), ca="CA")


def pod(*found: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A pod with these volumes, and no token unless it is asked for."""
    usual = {"automountServiceAccountToken": False, "containers": [], "volumes": list(found)}
    return {"metadata": {"name": "one", "namespace": "ns", "labels": {"a": "b"}}, "spec": {**usual, **spec}}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        pytest.param({"emptyDir": {}}, Volume(name="v"), id="a folder"),
        pytest.param(
            {"configMap": {"name": "code", "defaultMode": 0o600}},
            Volume(name="v", files=(File("a.py", b"A", 0o600), File("b.py", b"B", 0o600)), readonly=True),
            id="a config map",
        ),
        pytest.param(
            {"configMap": {"name": "code", "items": [{"key": "a.py", "path": "x/y.py", "mode": 0o755}]}},
            Volume(name="v", files=(File("x/y.py", b"A", 0o755),), readonly=True),
            id="chosen keys",
        ),
        pytest.param(
            {"secret": {"secretName": "none", "optional": True}}, Volume(name="v", readonly=True), id="may be missing"
        ),
        pytest.param(
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 60}}]}},
            Volume(name="v", tokens=(Token(path="t", seconds=60),), readonly=True),
            id="a token",
        ),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            Volume(name="v", files=(File("labels", b'a="b"'),), readonly=True),
            id="the pod itself",
        ),
        pytest.param({"persistentVolumeClaim": {"claimName": "c"}}, Volume(name="v", kept="ns/c"), id="a claim"),
        pytest.param({"hostPath": {"path": "/x"}}, Volume(name="v", host="/x"), id="of the machine"),
    ],
)
def test_volumes(source: dict[str, Any], wanted: Volume) -> None:
    assert volumes.volumes(pod({"name": "v", **source}), FACTS) == {"v": wanted}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"configMap": {"name": "none"}}, 'configmap "none" not found'),
        ({"configMap": {"name": "code", "items": [{"key": "z", "path": "z"}]}}, "non-existent config key: z"),
        ({"csi": {"driver": "x"}}, 'volume "v": standalone has no volumes of the kind csi; use emptyDir'),
    ],
)
def test_what_cannot_be_had(source: dict[str, Any], words: str) -> None:
    with pytest.raises(CannotStart, match=words):
        volumes.volumes(pod({"name": "v", **source}), FACTS)


def test_memory() -> None:
    found = pod({"name": "a", "emptyDir": {"medium": "Memory", "sizeLimit": "1Ki"}}, {"name": "b", "emptyDir": {}})
    assert volumes.memory(found) == {"a": 1024}


def test_the_account_is_mounted_unless_nobody_wants_it() -> None:
    wanting = pod(automountServiceAccountToken=None)
    assert volumes.mounts(wanting, {}, {}) == [Mount(volume=ACCOUNT_VOLUME, path=ACCOUNT_PATH, readonly=True)]
    assert volumes.volumes(wanting, FACTS)[ACCOUNT_VOLUME].files[0] == File("ca.crt", b"CA")
    own = {"volumeMounts": [{"name": "t", "mountPath": ACCOUNT_PATH}]}
    assert [one.volume for one in volumes.mounts(wanting, own, {})] == ["t"]


def test_parts_of_volumes() -> None:
    container = {
        "volumeMounts": [
            {"name": "v", "mountPath": "/a/b/c", "subPathExpr": "$(POD)/x"},
            {"name": "v", "mountPath": "/a/", "subPath": "y", "readOnly": True},
        ]
    }
    assert volumes.mounts(pod(), container, {"POD": "p"}) == [
        Mount(volume="v", path="/a", part="y", readonly=True),
        Mount(volume="v", path="/a/b/c", part="p/x"),
    ]


@pytest.mark.parametrize("given", [{"mountPath": "/x", "subPath": "../up"}, {"mountPath": "x"}, {"mountPath": "/"}])
def test_bad_paths_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(CannotStart, match=r"volumeMounts\[v\]"):
        volumes.mounts(pod(), {"volumeMounts": [{"name": "v", **given}]}, {})
