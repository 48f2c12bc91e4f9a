"""watch, logs and submit: jobs are followed to their end, whose exit code is the command's."""

import asyncio
import pathlib
from typing import Any

import pytest
import yaml

from manta_cli import composing
from manta_cli.failures import Failed
from manta_common.errors import Refused
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, POD, RAYCLUSTER, RAYJOB
from manta_common.kube.protocol import MergePatch
from tests.examples import manifests
from tests.unit.manta_cli.place import USER, Place, Terminal, parsed, played

STARTED = {
    "containerStatuses": [
        {
            "name": "ray-job-submitter",
            "state": {"running": {}},
            "image": "x",
            "imageID": "x",
            "ready": True,
            "restartCount": 0,
        }
    ]
}


def submitter(place: Place, name: str) -> Key:
    """The pod that submits a job, and runs."""
    container = {"name": "ray-job-submitter", "image": "x"}
    pod = {"metadata": {"name": f"{name}-pod", "labels": {"job-name": name}}, "spec": {"containers": [container]}}
    place.make(POD, pod)
    key = Key("team", f"{name}-pod")
    place.store.patch(POD, key, MergePatch({"status": STARTED}), USER, subresource="status")
    return key


def log_of(cluster: str, job: str) -> str:
    """Where the API server leads to the log of a job."""
    return f"/api/v1/namespaces/team/services/{cluster}-head-svc:dashboard/proxy/api/jobs/{job}/logs"


def test_a_job_is_watched_to_its_end() -> None:
    async def scenario(place: Place) -> None:
        place.make(RAYJOB, manifests.job(name="j"))
        loop = asyncio.get_running_loop()
        loop.call_later(5, lambda: place.tell("j", jobDeploymentStatus="Running", jobStatus="RUNNING"))
        loop.call_later(6, lambda: place.tell("j", message="nothing that is shown"))
        loop.call_later(9, lambda: place.tell("j", jobDeploymentStatus="Complete", jobStatus="SUCCEEDED"))
        assert await place.manta("watch", "rayjob", "j") == 0
        assert [line.split()[2:] for line in place.said.splitlines()] == [
            ["new"],
            ["Running", "RUNNING"],
            ["Complete", "SUCCEEDED"],
        ]

    played(scenario)


def test_on_a_terminal_the_table_is_drawn_anew() -> None:
    async def scenario(place: Place) -> None:
        place.out = Terminal(is_terminal=True)
        place.make(RAYCLUSTER, manifests.cluster(name="c"))
        watching = asyncio.create_task(place.manta("watch"))
        await asyncio.sleep(3)
        watching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watching
        assert "\033[H\033[J" in place.out.getvalue()
        assert "0/0 workers" in place.out.getvalue()

    played(scenario)


def test_a_name_of_no_job_and_a_name_of_two_kinds_are_told() -> None:
    async def scenario(place: Place) -> None:
        with pytest.raises(ExceptionGroup) as error:
            await place.manta("watch", "rayjob", "none")
        assert "there is no rayjob none" in str(error.value.exceptions[0])
        with pytest.raises(Failed, match="exactly one kind"):
            await place.manta("watch", "all", "x")

    played(scenario)


def test_the_log_is_the_submitters() -> None:
    async def scenario(place: Place) -> None:
        place.make(RAYJOB, manifests.job(name="j"))
        with pytest.raises(Failed, match="no log yet"):
            await place.manta("logs", "j")
        place.kube.logs[submitter(place, "j"), "ray-job-submitter"] = [b"one\n", b"two\n"]
        assert await place.manta("logs", "j") == 0
        assert place.said == "one\ntwo\n"

    played(scenario)


def test_the_log_is_followed_from_when_there_is_one() -> None:
    async def scenario(place: Place) -> None:
        place.make(RAYJOB, manifests.job(name="j"))
        place.kube.logs[Key("team", "j-pod"), "ray-job-submitter"] = [b"one\n"]
        loop = asyncio.get_running_loop()
        loop.call_later(5, lambda: submitter(place, "j"))
        loop.call_later(9, lambda: place.tell("j", jobDeploymentStatus="Complete"))
        assert await place.manta("logs", "j", "-f") == 0
        assert place.said == "one\n"

    played(scenario)


def test_without_a_submitter_the_log_is_the_dashboards() -> None:
    async def scenario(place: Place) -> None:
        place.make(RAYJOB, manifests.job({"submissionMode": "HTTPMode"}, name="j"))
        with pytest.raises(Failed, match="not been submitted yet"):
            await place.manta("logs", "j")
        place.tell("j", jobDeploymentStatus="Running", rayClusterName="c", jobId="j-1")
        path = log_of("c", "j-1")
        place.kube.answers[path] = b'{"logs": "one\\n"}'
        loop = asyncio.get_running_loop()
        loop.call_later(5, lambda: place.kube.answers.update({path: b'{"logs": "one\\ntwo\\n"}'}))
        loop.call_later(9, lambda: place.tell("j", jobDeploymentStatus="Complete"))
        assert await place.manta("logs", "j", "-f") == 0
        assert place.said == "one\ntwo\n"

    played(scenario)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ({"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}, 0),
        ({"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "message": "failed with exit code 3, last"}, 3),
        ({"jobDeploymentStatus": "Failed", "jobStatus": "", "reason": "DeadlineExceeded"}, 1),
    ],
)
def test_the_exit_code_is_the_jobs(tmp_path: pathlib.Path, status: dict[str, Any], code: int) -> None:
    async def scenario(place: Place) -> None:
        script = tmp_path / "my.py"
        script.write_text("print(1)\n")
        place.kube.answers[log_of("c", "mine-1")] = b'{"logs": "1\\n"}'
        loop = asyncio.get_running_loop()
        loop.call_later(3, lambda: place.tell("mine", rayClusterName="c", jobId="mine-1"))
        loop.call_later(8, lambda: place.tell("mine", **status))
        words = ["submit", "--name", "mine", "--workers", "2", "--", "python", str(script), "--fast"]
        assert await place.manta(*words) == code
        assert place.said == "1\n"
        job = await place.kube.get(RAYJOB, Key("team", "mine"), dict)
        assert job["spec"]["entrypoint"] == "python /home/ray/files/my.py --fast"
        files = await place.kube.get(CONFIGMAP, Key("team", "mine-files"), dict)
        assert files["data"] == {"my.py": "print(1)\n"}
        assert files["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]

    played(scenario)


def test_who_may_not_see_the_log_is_told_and_the_job_goes_on() -> None:
    async def scenario(place: Place) -> None:
        place.kube.failures[log_of("c", "mine-1")] = Refused(403, "Forbidden", 'cannot get resource "services/proxy"')
        loop = asyncio.get_running_loop()
        loop.call_later(3, lambda: place.tell("mine", rayClusterName="c", jobId="mine-1"))
        loop.call_later(8, lambda: place.tell("mine", jobDeploymentStatus="Complete", jobStatus="SUCCEEDED"))
        assert await place.manta("submit", "--name", "mine", "--", "true") == 0
        assert (
            'no log: the dashboard of RayJob team/mine does not show its log: cannot get resource "services/proxy"'
            in (place.err.getvalue())
        )

    played(scenario)


def test_its_cluster_stays_while_its_log_is_read() -> None:
    spec = composing.rayjob(parsed("submit", "--", "true"), "mine", {})["spec"]
    assert (spec["shutdownAfterJobFinishes"], spec["ttlSecondsAfterFinished"]) == (True, composing.LOG_SECONDS)
    kept = composing.rayjob(parsed("submit", "--keep", "--", "true"), "mine", {})["spec"]
    assert not kept.keys() & {"shutdownAfterJobFinishes", "ttlSecondsAfterFinished"}


def test_ctrl_c_leaves_the_job_and_says_so() -> None:
    async def scenario(place: Place) -> None:
        running = asyncio.create_task(place.manta("submit", "--name", "mine", "--", "sleep", "100"))
        await asyncio.sleep(3)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert "the job goes on: `manta logs mine -f`" in place.err.getvalue()
        await place.kube.get(RAYJOB, Key("team", "mine"), dict)

    played(scenario)


def test_a_dry_run_prints_what_would_be_made(tmp_path: pathlib.Path) -> None:
    async def scenario(place: Place) -> None:
        env = tmp_path / "env.yaml"
        env.write_text("pip: [requests]\n")
        words = ["submit", "--dry-run", "--runtime-env", str(env), "--cluster", "shared", "--", "python -m x"]
        assert await place.manta(*words) == 0
        (job,) = yaml.safe_load(place.said)["items"]
        assert job["spec"] == {
            "entrypoint": "python -m x",
            "submissionMode": "HTTPMode",
            "runtimeEnvYAML": "pip: [requests]\n",
            "clusterSelector": {"ray.io/cluster": "shared"},
        }
        assert not (await place.kube.list(RAYJOB, dict)).items

    played(scenario)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(["--name", "Big", "--", "x"], "lower-case", id="a bad name"),
        pytest.param(["--runtime-env", "/none", "--", "x"], "cannot be read", id="no such file"),
        pytest.param(["--file", "/none", "--", "x"], "cannot be sent along", id="no such file to send"),
        pytest.param(["--cluster", "c", "--file", __file__, "--", "x"], "existing cluster", id="files and a cluster"),
    ],
)
def test_bad_input_names_the_flag_and_the_fix(words: list[str], complaint: str) -> None:
    async def scenario(place: Place) -> None:
        with pytest.raises(Failed, match=complaint):
            await place.manta("submit", *words)
        assert not (await place.kube.list(RAYJOB, dict)).items

    played(scenario)


@pytest.mark.parametrize(("words", "stem"), [(["python", "My_Job.py"], "my-job"), (["9"], "job-9"), (["-x"], "job")])
def test_names_are_made_from_the_command(words: list[str], stem: str) -> None:
    name = composing.job_name(parsed("submit", "--", *words))
    assert name.rpartition("-")[0] == stem
