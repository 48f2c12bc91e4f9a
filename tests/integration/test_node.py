"""Pods as processes of this machine: what they see, what is seen of them, and how they end."""

import pathlib
from collections.abc import AsyncIterator

import pytest

from manta_common.kinds import CONFIGMAP, POD, SECRET, SERVICE
from manta_embedded.node.restarts import Pace
from tests.integration.node_world import FILES_IN_TMP, LIMIT_SECONDS, NodeWorld, node_world, shell
from tests.parts.eventually import eventually

QUICK = Pace(first_seconds=0.5, longest_seconds=1.0)


def is_there(path: str) -> bool:
    """Whether this machine has something at a path."""
    return pathlib.Path(path).exists()


@pytest.fixture
async def world(tmp_path: pathlib.Path) -> AsyncIterator[NodeWorld]:
    async with node_world(tmp_path, pace=QUICK) as found:
        yield found


async def test_a_pod_runs_to_its_end(world: NodeWorld) -> None:
    world.pod("one", shell("echo hello; echo trouble >&2; exit 0"), restartPolicy="Never")
    status = await world.phase("one", "Succeeded")
    assert world.state("one")["state"]["terminated"]["reason"] == "Completed"
    assert status["podIP"].startswith("198.19.")
    assert world.condition("one", "Ready")["reason"] == "PodCompleted"
    assert sorted((await world.log("one")).splitlines()) == ["hello", "trouble"]
    told = {"Scheduled", "Pulled", "Created", "Started"}
    await world.until("events are there", lambda: told <= set(world.events("one")))


async def test_exit_codes_and_last_words(world: NodeWorld) -> None:
    world.pod("one", shell("echo why > /dev/termination-log; exit 3"), restartPolicy="Never")
    world.pod("two", shell("kill -9 $$$$"), restartPolicy="Never")
    world.pod("three", {"name": "main", "image": "x", "command": ["no-such-program"]}, restartPolicy="Never")
    world.pod("four", {"name": "main", "image": "nginx"}, restartPolicy="Never")
    await world.phase("one", "Failed")
    ended = world.state("one")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["message"]) == (3, "Error", "why\n")
    await world.phase("two", "Failed")
    assert world.state("two")["state"]["terminated"]["exitCode"] == 137
    await world.phase("three", "Failed")
    ended = world.state("three")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert "install the program here" in ended["message"]
    await world.until("its image is not run", lambda: world.state("four")["state"].get("waiting", {}).get("message"))
    assert world.state("four")["state"]["waiting"]["reason"] == "ErrImagePull"
    assert "has no command of its own" in world.state("four")["state"]["waiting"]["message"]


async def test_a_process_that_the_kernel_killed_for_want_of_memory(
    world: NodeWorld, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = tmp_path / "vmstat"
    counts.write_text("nr_free_pages 1\noom_kill 1\n")
    monkeypatch.setattr("manta_embedded.node.containers.VMSTAT", counts)
    world.pod("one", shell("echo $$$$ > /tmp/pid; sleep infinity & wait"), restartPolicy="Never")
    await world.ready("one")
    await world.until("it has begun", lambda: [one for one in tmp_path.glob("**/tmp/pid") if one.read_text()])
    counts.write_text("nr_free_pages 1\noom_kill 2\n")
    await world.run("one", "bash", "-c", "kill -9 $(cat /tmp/pid)")
    await world.phase("one", "Failed")
    ended = world.state("one")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


async def test_files_and_variables(world: NodeWorld) -> None:
    world.create(CONFIGMAP, {"metadata": {"name": "code"}, "data": {"job.py": "print('from a map')\n", "MODE": "fast"}})
    world.create(SECRET, {"metadata": {"name": "key"}, "stringData": {"token": "s3cret"}})
    script = (
        "python3 /home/ray/samples/job.py; cat /secrets/token; echo; echo $GREETING $MODE $KEY $NAME $LIMIT;"
        " cat /var/run/secrets/kubernetes.io/serviceaccount/token; echo;"
        f" touch /scratch/x /tmp/y; {FILES_IN_TMP}; stat -f -c %T /dev/shm; hostname; touch /secrets/no"
    )
    container = shell(
        script,
        env=[
            {"name": "WHO", "value": "you"},
            {"name": "GREETING", "value": "hello $(WHO) $$(WHO)"},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "key", "key": "token"}}},
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
        ],
        envFrom=[{"configMapRef": {"name": "code"}}],
        resources={"limits": {"memory": "1Gi"}},
        volumeMounts=[
            {"name": "code", "mountPath": "/home/ray/samples"},
            {"name": "key", "mountPath": "/secrets", "readOnly": True},
            {"name": "scratch", "mountPath": "/scratch"},
            {"name": "shm", "mountPath": "/dev/shm"},
        ],
    )
    volumes = [
        {"name": "code", "configMap": {"name": "code"}},
        {"name": "key", "secret": {"secretName": "key"}},
        {"name": "scratch", "emptyDir": {}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
    ]
    world.pod("one", container, restartPolicy="Never", volumes=volumes)
    await world.phase("one", "Failed")
    lines = (await world.log("one")).splitlines()
    assert lines[:-1] == [
        "from a map",
        "s3cret",
        "hello you $(WHO) fast s3cret one 1024",
        "a-token",
        "y",
        "tmpfs",
        "one",
    ]
    assert "Read-only file system" in lines[-1]
    assert not is_there("/home/ray")


async def test_a_missing_config_map_is_waited_for(world: NodeWorld) -> None:
    source = [{"configMapRef": {"name": "later"}}]
    world.pod("one", shell("echo $WORD", envFrom=source), restartPolicy="Never")
    await world.until("it waits", lambda: world.state("one")["state"].get("waiting", {}).get("message"))
    waiting = world.state("one")["state"]["waiting"]
    assert waiting == {"reason": "CreateContainerConfigError", "message": 'configmap "later" not found'}
    world.create(CONFIGMAP, {"metadata": {"name": "later"}, "data": {"WORD": "here"}})
    await world.phase("one", "Succeeded")
    assert await world.log("one") == "here\n"


async def test_init_containers_come_first_and_names_resolve(world: NodeWorld) -> None:
    selector = {"app": "server"}
    service = {
        "metadata": {"name": "server"},
        "spec": {"selector": selector, "clusterIP": "None", "ports": [{"port": 8000}]},
    }
    world.create(SERVICE, service)
    wait = "until getent hosts server.default.svc.cluster.local; do sleep 0.1; done"
    world.pod(
        "client",
        shell("curl -sS http://server:8000/word"),
        restartPolicy="Never",
        initContainers=[shell(wait, name="wait")],
    )
    await world.until("the init container runs", lambda: world.state("client", "wait")["state"].get("running"))
    assert world.status("client")["phase"] == "Pending"
    assert world.condition("client", "Initialized")["reason"] == "ContainersNotInitialized"
    made = {
        "metadata": {"name": "server", "labels": selector},
        "spec": {
            "containers": [
                shell(
                    "echo hi from afar > word; exec python3 -m http.server 8000",
                    readinessProbe={"tcpSocket": {"port": 8000}, "periodSeconds": 1},
                )
            ]
        },
    }
    world.create(POD, made)
    await world.phase("client", "Succeeded")
    assert await world.log("client") == "hi from afar\n"
    assert world.status("server")["podIP"] != world.status("client")["podIP"]


async def test_a_failing_container_is_started_again_later_and_later(world: NodeWorld) -> None:
    world.pod("one", shell("echo life; exit 1"))
    await world.until("it fails again and again", lambda: world.state("one").get("restartCount", 0) >= 2)
    await world.until("it waits", lambda: "waiting" in world.state("one")["state"])
    found = world.state("one")
    assert found["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert found["state"]["waiting"]["message"].startswith("back-off ")
    assert found["lastState"]["terminated"]["exitCode"] == 1
    assert world.status("one")["phase"] == "Running"
    assert await world.log("one", previous=True) == "life\n"
    await world.until("it is told", lambda: "BackOff" in world.events("one"))


async def test_probes(world: NodeWorld) -> None:
    often = {"periodSeconds": 1, "timeoutSeconds": 60}  # a slow machine is no failure
    ready = {"exec": {"command": ["test", "-e", "/tmp/ready"]}, **often}
    alive = {"exec": {"command": ["test", "!", "-e", "/tmp/dead"]}, "failureThreshold": 1, **often}
    world.pod(
        "one",
        shell("sleep 1000", readinessProbe=ready, livenessProbe=alive),
        terminationGracePeriodSeconds=1,
    )
    await world.phase("one", "Running")
    await world.until("it is told", lambda: "Unhealthy" in world.events("one"))
    assert world.condition("one", "Ready")["reason"] == "ContainersNotReady"
    assert await world.run("one", "touch", "/tmp/ready") == (0, "")
    await world.ready("one")
    await world.run("one", "touch", "/tmp/dead")
    await world.until("it was started again", lambda: world.state("one").get("restartCount") == 1)
    await world.until("it is told", lambda: "Killing" in world.events("one"))


async def test_a_pod_is_deleted_with_its_grace(world: NodeWorld) -> None:
    script = "trap 'echo bye; sleep 0.3; exit 0' TERM; echo up; while true; do sleep 0.05; done"
    hook = {"preStop": {"exec": {"command": ["bash", "-c", "touch /scratch/hooked"]}}}
    volume = {"name": "scratch", "hostPath": {"path": str(world.folder)}}
    mount = [{"name": "scratch", "mountPath": "/scratch"}]
    world.pod("one", shell(script, lifecycle=hook, volumeMounts=mount), volumes=[volume])
    await world.ready("one")
    world.delete("one", grace_seconds=600)
    await world.gone("one")
    assert (world.folder / "hooked").exists()
    world.pod("two", shell("trap '' TERM; while true; do sleep 0.05; done"))
    await world.ready("two")
    uid = world.get("two")["metadata"]["uid"]
    world.delete("two", grace_seconds=1)
    await world.gone("two")
    await world.until("its files are gone", lambda: not (world.folder / "pods" / uid).exists())


async def test_what_is_left_of_a_container_ends_with_it(world: NodeWorld) -> None:
    world.pod(
        "one",
        shell("(setsid sleep 987654 &) ; sleep 0.2; exit 1"),
        shell("sleep 1000", name="other"),
        restartPolicy="Never",
    )
    await world.until("it has ended", lambda: world.state("one")["state"].get("terminated"))
    await world.until("the other runs", lambda: world.state("one", "other")["state"].get("running"))
    code, said = await world.run("one", "pgrep", "-f", "sleep 98765[4]", container="other")
    assert (code, said) == (1, "")


async def test_commands_and_ports(world: NodeWorld) -> None:
    world.pod("one", shell("cd /tmp; echo content > file; exec python3 -m http.server 9000 --bind 127.0.0.1"))
    await world.ready("one")
    assert await world.run("one", "cat", stdin=b"typed") == (0, "typed")
    assert await world.run("one", "bash", "-c", "echo out; echo err >&2; exit 7") == (7, "err\nout\n")

    async def listens() -> bool | None:
        return (await world.run("one", "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9000"))[0] == 0 or None

    await eventually("it listens", listens, limit_seconds=LIMIT_SECONDS)
    reader, writer = await world.node.connect(world.get("one"), 9000)
    writer.write(b"GET /file HTTP/1.0\r\n\r\n")
    assert (await reader.read()).endswith(b"content\n")
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await world.node.connect(world.get("one"), 9001)


async def test_logs_are_followed(world: NodeWorld) -> None:
    world.pod("one", shell("for i in 1 2 3 4; do echo line $i; sleep 0.1; done"), restartPolicy="Never")
    await world.until("it has begun", lambda: {"running", "terminated"} & world.state("one")["state"].keys())
    assert await world.log("one", follow=True) == "line 1\nline 2\nline 3\nline 4\n"
    assert await world.log("one", tail_lines=2) == "line 3\nline 4\n"
    assert await world.log("one", limit_bytes=4) == "line"
    assert (await world.log("one", timestamps=True, tail_lines=1)).endswith("Z line 4\n")


async def test_what_does_not_fit_waits_and_says_why(tmp_path: pathlib.Path) -> None:
    async with node_world(tmp_path, capacity={"cpu": "2", "memory": "1Gi", "pods": "10"}) as world:
        large = {"requests": {"cpu": "1500m"}}
        world.pod("one", shell("sleep 1000", resources=large), terminationGracePeriodSeconds=0)
        await world.phase("one", "Running")
        world.pod("two", shell("sleep 1000", resources=large), terminationGracePeriodSeconds=0)
        await world.until("it is told", lambda: world.condition("two", "PodScheduled")["status"] == "False")
        found = world.condition("two", "PodScheduled")
        assert found["reason"] == "Unschedulable"
        assert found["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
        world.delete("one", grace_seconds=0)
        await world.phase("two", "Running")


async def test_a_node_that_comes_back_starts_again_what_it_may(tmp_path: pathlib.Path) -> None:
    async with node_world(tmp_path, pace=QUICK) as world:
        world.pod("always", shell("exec sleep 1000"), terminationGracePeriodSeconds=0)
        world.pod("never", shell("exec sleep 1000"), restartPolicy="Never")
        world.pod("done", shell("true"), restartPolicy="Never")
        await world.ready("always")
        await world.ready("never")
        await world.phase("done", "Succeeded")
        await world.stop()
        again = NodeWorld(world.store, tmp_path, pace=QUICK)
        await again.start()
        try:
            await again.until("it was started again", lambda: again.state("always").get("restartCount") == 1)
            assert again.state("always")["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
            await again.phase("never", "Failed")
            await again.ready("always")
            assert again.status("done")["phase"] == "Succeeded"
        finally:
            await again.stop()


async def test_startup_probes_and_sidecars(world: NodeWorld) -> None:
    startup = {"exec": {"command": ["test", "-e", "/shared/up"]}, "periodSeconds": 1, "failureThreshold": 30}
    mount = [{"name": "shared", "mountPath": "/shared"}]
    sidecar = shell(
        "trap 'exit 0' TERM; touch /shared/up; while true; do sleep 0.1; done",
        name="side",
        restartPolicy="Always",
        startupProbe=startup,
        volumeMounts=mount,
    )
    world.pod(
        "one",
        shell("test -e /shared/up && sleep 0.5", volumeMounts=mount),
        initContainers=[sidecar],
        volumes=[{"name": "shared", "emptyDir": {}}],
        restartPolicy="Never",
    )
    await world.phase("one", "Succeeded")
    assert world.state("one", "side")["state"]["terminated"]["exitCode"] == 0


async def test_a_pod_that_takes_too_long_has_failed(world: NodeWorld) -> None:
    world.pod("one", shell("exec sleep 1000"), activeDeadlineSeconds=1, terminationGracePeriodSeconds=1)
    status = await world.phase("one", "Failed")
    assert status["reason"] == "DeadlineExceeded"
    await world.until("its processes are gone", lambda: world.state("one")["state"].get("terminated"))
    with pytest.raises(ConnectionRefusedError):
        await world.node.connect(world.get("one"), 80)


async def test_a_probe_that_makes_no_sense_is_told(world: NodeWorld) -> None:
    world.pod("one", shell("exec sleep 1000", livenessProbe={"httpGet": {"port": "none"}}))
    await world.until("it waits", lambda: world.state("one")["state"].get("waiting", {}).get("message"))
    assert world.state("one")["state"]["waiting"]["message"] == 'container "main" has no port named "none"'
