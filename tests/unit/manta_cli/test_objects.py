"""apply, get, describe, delete and cleanup, as they are typed."""

import pathlib

import pytest
import yaml

from manta_cli.failures import Failed
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, POD, RAYCLUSTER, RAYJOB
from tests.examples import manifests
from tests.unit.manta_cli.place import Place, played

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}


def written(folder: pathlib.Path, *objects: object) -> str:
    file = folder / "objects.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    return str(file)


def test_files_are_applied_and_a_second_time_nothing_changes(tmp_path: pathlib.Path) -> None:
    async def scenario(place: Place) -> None:
        job = manifests.job(name="j")
        file = written(tmp_path, CONFIG, None, {"kind": "List", "apiVersion": "v1", "items": [job]})
        assert await place.manta("apply", "-f", file) == 0
        assert place.said == "configmap/c created\nrayjob/j created\n"
        assert await place.manta("apply", "-f", file) == 0
        assert place.said == "configmap/c unchanged\nrayjob/j unchanged\n"
        written(tmp_path, CONFIG | {"data": {"a": "2"}})
        assert await place.manta("apply", "-f", str(tmp_path), "-o", "name") == 0
        assert place.said == "configmap/c\n"
        assert (await place.kube.get(CONFIGMAP, Key("team", "c"), dict))["data"] == {"a": "2"}

    played(scenario)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("kind: RayJob\nmetadata: {name: a}\n", "document 1 has no apiVersion: add it", id="no version"),
        pytest.param("apiVersion: v1\nkind: Pod\n", "has no metadata: add it", id="no metadata"),
        pytest.param("apiVersion: v1\nkind: Pod\nmetadata: {generateName: a}\n", "metadata.name", id="no name"),
        pytest.param("- 1\n", "is not an object", id="no object"),
        pytest.param("a: [", "is not YAML", id="no YAML"),
    ],
)
def test_a_file_that_is_no_object_is_told(tmp_path: pathlib.Path, text: str, complaint: str) -> None:
    async def scenario(place: Place) -> None:
        (tmp_path / "a.yaml").write_text(text)
        with pytest.raises(Failed, match=complaint):
            await place.manta("apply", "-f", str(tmp_path / "a.yaml"))

    played(scenario)


def test_one_object_that_is_refused_does_not_hold_up_the_others(tmp_path: pathlib.Path) -> None:
    async def scenario(place: Place) -> None:
        bad = CONFIG | {"metadata": {"name": "Not_a_name"}}
        unknown = {"apiVersion": "v1", "kind": "Gadget", "metadata": {"name": "g"}}
        place.kube.answers["/api/v1"] = b'{"resources": []}'
        assert await place.manta("apply", "-f", written(tmp_path, bad, unknown, CONFIG)) == 1
        assert place.said == "configmap/c created\n"
        told = place.err.getvalue()
        assert "document 1: " in told
        assert "Not_a_name" in told
        assert "document 2: the API server serves no Gadget in v1" in told

    played(scenario)


def test_a_kind_that_only_the_server_knows_is_asked_for(tmp_path: pathlib.Path) -> None:
    async def scenario(place: Place) -> None:
        served = b'{"resources": [{"name": "limitranges", "kind": "LimitRange", "namespaced": true}]}'
        place.kube.answers["/api/v1"] = served
        limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": []}}
        await place.manta("apply", "-f", written(tmp_path, limits))
        assert "there is no kind" not in place.err.getvalue()

    played(scenario)


def test_objects_are_shown_with_kubectls_columns() -> None:
    async def scenario(place: Place) -> None:
        place.make(RAYCLUSTER, manifests.cluster(name="c"))
        place.make(RAYJOB, manifests.job(name="j"))
        place.tell("j", jobStatus="RUNNING", jobDeploymentStatus="Running", rayClusterName="j-abcde")
        assert await place.manta("get", "all") == 0
        clusters, jobs = place.said.split("\n\n")
        assert clusters.splitlines()[0].split()[:3] == ["NAME", "DESIRED", "WORKERS"]
        assert jobs.splitlines()[1].split() == ["j", "RUNNING", "Running", "j-abcde", "0s"]
        await place.manta("get", "rayjobs.ray.io", "j", "-o", "json")
        assert place.document["metadata"]["name"] == "j"
        await place.manta("get", "rayjob", "-o", "yaml")
        (item,) = yaml.safe_load(place.said)["items"]
        assert (item["kind"], "managedFields" in item["metadata"]) == ("RayJob", False)
        await place.manta("get", "rayjob,raycluster", "-o", "name")
        assert place.said == "rayjob/j\nraycluster/c\n"

    played(scenario)


def test_nothing_to_show_is_told_and_an_unknown_kind_with_those_that_are_known() -> None:
    async def scenario(place: Place) -> None:
        assert await place.manta("get", "pods") == 0
        assert place.said == ""
        assert place.err.getvalue() == "no pods in namespace team\n"
        with pytest.raises(Failed, match=r"no kind 'gadget'.*rayclusters"):
            await place.manta("get", "gadget")

    played(scenario)


def test_all_is_told_of_a_job() -> None:
    async def scenario(place: Place) -> None:
        place.make(RAYJOB, manifests.job(name="j", labels={"team": "a"}))
        place.tell("j", jobDeploymentStatus="Running", rayClusterName="c", conditions=[condition("True", "because")])
        pod = {
            "metadata": {"name": "c-head", "labels": {"ray.io/cluster": "c"}},
            "spec": {"containers": [{"name": "x", "image": "y"}]},
        }
        place.make(POD, pod)
        assert await place.manta("describe", "rayjob", "j") == 0
        told = place.said
        for part in (
            "Name: j",
            "  team: a",
            "jobDeploymentStatus: Running",
            "CleanupScheduled=True",
            "c-head",
            "Events: none",
        ):
            assert part in told

    played(scenario)


def test_objects_are_deleted_and_awaited(tmp_path: pathlib.Path) -> None:
    async def scenario(place: Place) -> None:
        for name in "abc":
            place.make(CONFIGMAP, CONFIG | {"metadata": {"name": name}})
        assert await place.manta("delete", "cm", "a", "--wait") == 0
        assert place.said == "configmap/a deleted\n"
        assert await place.manta("delete", "cm", "a", "b") == 1
        assert place.said == "configmap/b deleted\n"
        assert '"a" not found' in place.err.getvalue()
        assert await place.manta("delete", "cm", "a", "--ignore-not-found") == 0
        assert await place.manta("delete", "-f", written(tmp_path, CONFIG)) == 0
        assert place.said == "configmap/c deleted\n"
        with pytest.raises(Failed, match="say what to delete"):
            await place.manta("delete")

    played(scenario)


def test_what_does_not_go_in_time_is_told() -> None:
    async def scenario(place: Place) -> None:
        place.make(CONFIGMAP, CONFIG | {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}})
        with pytest.raises(Failed, match="after 5 s"):
            await place.manta("delete", "cm", "a", "--wait", "--timeout", "5")

    played(scenario)


def condition(status: str, message: str) -> dict[str, str]:
    reason = "DeleteCluster"
    at = "2026-01-02T03:04:05Z"
    return {
        "type": "CleanupScheduled",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": at,
    }


def test_what_will_be_deleted_is_shown_first_things_first() -> None:
    async def scenario(place: Place) -> None:
        said = {
            "late": condition("True", "the RayJob will be deleted at 2999-01-02T03:04:05Z by deletionRules[1]"),
            "soon": condition("True", "the RayCluster will be deleted at 2000-01-02T03:04:05Z by onSuccess"),
            "never": condition("False", "no rule of the job asks for a deletion any more"),
        }
        for name, told in said.items():
            place.make(RAYJOB, manifests.job(name=name))
            place.tell(name, jobDeploymentStatus="Complete", conditions=[told])
        assert await place.manta("cleanup") == 0
        _, *rows = place.said.splitlines()
        assert [row.split()[1] for row in rows] == ["soon", "late"]
        assert rows[0].split()[2:] == ["RayCluster", "now", "2000-01-02T03:04:05Z", "onSuccess"]
        await place.manta("cleanup", "-A", "-o", "json")
        assert place.document[1] == {
            "namespace": "team",
            "name": "late",
            "policy": "DeleteCluster",
            "what": "the RayJob",
            "at": "2999-01-02T03:04:05Z",
            "rule": "deletionRules[1]",
        }

    played(scenario)


def test_that_nothing_is_planned_is_told() -> None:
    async def scenario(place: Place) -> None:
        assert await place.manta("cleanup") == 0
        assert place.err.getvalue() == "nothing is planned to be deleted in namespace team\n"

    played(scenario)
