"""`manta` as a user types it, against a real cluster: made, seen, followed, explained and deleted."""

import json
import os
import pathlib
import signal
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.integration.job_world import CLUSTER, JobWorld
from tests.parts.control_plane import ControlPlane
from tests.parts.nats import Nats
from tests.parts.patience import patient
from tests.parts.process import Process, wait_until
from tests.parts.stub_dashboard import StubDashboard

MANTA = str(pathlib.Path(os.sys.executable).parent / "manta")  # type: ignore[attr-defined]


class Typed:
    """What is typed in one namespace, and what comes back."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.flags = ["--kubeconfig", str(plane.kubeconfig), "-n", namespace]

    def run(self, *words: str, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
        first, *others = words
        line = [MANTA, first, *self.flags, *others]
        done = subprocess.run(line, input=stdin, capture_output=True, text=True, timeout=patient(60), check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    def answer(self, *words: str, stdin: str = "") -> str:
        return self.run(*words, stdin=stdin).stdout


@pytest.fixture(scope="module")
def world(
    control_plane: ControlPlane, ray_crds: None, stub: StubDashboard, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JobWorld]:
    with control_plane.fresh_namespace("cli") as name:
        world = JobWorld(control_plane, name, stub.dashboard_url, tmp_path_factory.mktemp("cli"))
        yield world
        world.end()


@pytest.fixture
def typed(control_plane: ControlPlane, world: JobWorld) -> Typed:
    return Typed(control_plane, world.namespace)


def job(name: str, **spec: object) -> str:
    """The manifest of a RayJob that goes over HTTP."""
    whole = {"submissionMode": "HTTPMode", "entrypoint": "sleep 2", "rayClusterSpec": CLUSTER, **spec}
    return yaml.safe_dump({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name}, "spec": whole})


def test_a_job_from_its_file_to_its_end(typed: Typed, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(job("one", shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=3600))
    assert typed.answer("apply", "-f", str(file)) == "rayjob/one created\n"
    watched = typed.answer("watch", "rayjob", "one").splitlines()
    assert watched[-1].split()[:4] == ["rayjob", "one", "Complete", "SUCCEEDED"]
    assert typed.answer("apply", "-f", "-", stdin=file.read_text()) == "rayjob/one unchanged\n"
    assert typed.answer("get", "rayjob").splitlines()[1].split()[:3] == ["one", "SUCCEEDED", "Complete"]
    assert json.loads(typed.answer("get", "rayjob", "one", "-o", "json"))["status"]["jobStatus"] == "SUCCEEDED"
    told = typed.answer("describe", "rayjob", "one")
    assert "Complete=True" in told
    wait_until("it is planned", lambda: "one" in typed.answer("cleanup"), limit_seconds=30)
    (planned,) = json.loads(typed.answer("cleanup", "-o", "json"))
    assert (planned["name"], planned["policy"], planned["rule"]) == ("one", "DeleteCluster", "shutdownAfterJobFinishes")
    assert typed.answer("delete", "rayjob", "one", "--wait") == "rayjob/one deleted\n"
    typed.run("get", "rayjob", "one", code=1)


def test_a_command_is_submitted_and_ends_as_it_ends(typed: Typed, world: JobWorld, stub: StubDashboard) -> None:
    world.create("rayclusters", "shared", CLUSTER)
    wait_until("the cluster is ready", lambda: "ready" in typed.answer("get", "raycluster", "shared"), limit_seconds=90)
    done = typed.run("submit", "--name", "quick", "--dry-run", "--cluster", "shared", "--", "python", "-c", "print(1)")
    (manifest,) = yaml.safe_load(done.stdout)["items"]
    assert manifest["spec"]["entrypoint"] == "python -c 'print(1)'"
    assert world.find("rayjobs", "quick") is None
    made = typed.run("submit", "--name", "quick", "--no-wait", "--cluster", "shared", "--", "true")
    assert "rayjob/quick created" in made.stderr
    assert world.find("rayjobs", "quick")


def test_ctrl_c_ends_a_watch_at_once(typed: Typed, tmp_path: pathlib.Path) -> None:
    process = Process("manta watch", [MANTA, "watch", *typed.flags], tmp_path / "watch.log")
    process.start()
    process.wait_until("it shows something", lambda: "shared" in process.tail(), limit_seconds=60)
    os.kill(process.pid, signal.SIGINT)
    assert process.exit_code(within_seconds=10) == 130
    assert "Traceback" not in process.tail()


def test_the_doctor_finds_a_sound_cluster_and_what_is_wrong(typed: Typed, own_nats: Nats) -> None:
    findings = json.loads(typed.answer("doctor", "-o", "json", "--nats", own_nats.url))
    states = {one["check"]: one["state"] for one in findings}
    assert states["API server"] == states["NATS"] == states["CRD rayjobs.ray.io"] == "ok"
    assert all(state == "ok" for check, state in states.items() if check.startswith("rights of"))
    own_nats.kill()
    sick = typed.run("doctor", "--nats", own_nats.url, code=1).stdout
    assert "fail  NATS" in sick
    assert "\033[" not in sick


def test_the_doctor_tells_what_an_account_may_not_do(
    control_plane: ControlPlane, typed: Typed, world: JobWorld
) -> None:
    control_plane.request(
        "POST", f"api/v1/namespaces/{world.namespace}/serviceaccounts", {"metadata": {"name": "poor"}}
    )
    token = control_plane.service_account_token(world.namespace, "poor")
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    file = control_plane.kubeconfig.with_name(f"poor-{world.namespace}.kubeconfig")
    file.write_text(yaml.safe_dump(config))
    poor = Typed(control_plane, world.namespace)
    poor.flags[1] = str(file)
    assert "not allowed: " in poor.run("doctor", code=1).stdout
    assert "ask the cluster's administrator" in poor.run("get", "rayjobs", code=77).stderr


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        pytest.param(["get", "gadgets"], 1, "there is no kind 'gadgets'", id="an unknown kind"),
        pytest.param(["get", "rayjob", "none"], 1, '"none" not found', id="no such object"),
        pytest.param(["apply", "-f", "/none.yaml"], 1, "/none.yaml cannot be read", id="no such file"),
        pytest.param(["logs", "none"], 1, '"none" not found', id="the log of no job"),
        pytest.param(["get"], 2, "KIND", id="no kind"),
    ],
)
def test_bad_input_is_told_in_a_sentence(typed: Typed, words: list[str], code: int, complaint: str) -> None:
    assert complaint in typed.run(*words, code=code).stderr


def test_an_object_that_the_server_refuses_is_told_with_its_field(typed: Typed) -> None:
    done = typed.run("apply", "-f", "-", stdin=job("bad", backoffLimit="many"), code=1)
    assert "backoffLimit" in done.stderr
