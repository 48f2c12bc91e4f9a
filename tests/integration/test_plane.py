"""The plane as a whole: a toy reconciler of a few lines settles whatever happens to the parts it stands on."""

import contextlib
import functools
import pathlib
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.integration.toy_reconciler import OWNER
from tests.parts.cluster import ApiError
from tests.parts.control_plane import ControlPlane
from tests.parts.fault_proxy import Fault
from tests.parts.nats import Nats
from tests.parts.process import Process, wait_until

TOYS = 6
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "toys.example.test"},
    "spec": {
        "group": "example.test",
        "scope": "Namespaced",
        "names": {"kind": "Toy", "plural": "toys", "singular": "toy"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            part: {"type": "object", "properties": {"count": {"type": "integer"}}}
                            for part in ("spec", "status")
                        },
                    }
                },
            }
        ],
    },
}


class World:
    """A real API server and NATS, with the processes of the toy system."""

    def __init__(self, plane: ControlPlane, nats: Nats, namespace: str, folder: pathlib.Path) -> None:
        self.plane, self.nats, self.namespace, self.folder = plane, nats, namespace, folder
        self.processes: dict[str, Process] = {}

    def start(self, name: str) -> Process:
        """Start `watcher-1`, `reconciler-2` and so on."""
        command = [sys.executable, "-m", "tests.integration.toy_process", name.split("-", maxsplit=1)[0]]
        command += [str(self.plane.proxy_kubeconfig), self.nats.url, self.namespace]
        process = self.processes[name] = Process(name, command, self.folder / f"{name}.log")
        process.start()
        return process

    def want(self, count: int) -> None:
        """Every toy shall have so many parts."""
        for number in range(TOYS):
            body = {"apiVersion": "example.test/v1", "kind": "Toy", "metadata": {"name": f"t{number}"}}
            path = f"apis/example.test/v1/namespaces/{self.namespace}/toys/t{number}?fieldManager=test&force=true"
            self.plane.request("PATCH", path, body | {"spec": {"count": count}}, "application/apply-patch+yaml")

    def parts(self) -> dict[str, str]:
        found = self.plane.request("GET", f"api/v1/namespaces/{self.namespace}/configmaps?labelSelector={OWNER}")
        return {item["metadata"]["name"]: item["metadata"]["uid"] for item in found["items"]}

    def reported(self) -> list[int]:
        found = self.plane.request("GET", f"apis/example.test/v1/namespaces/{self.namespace}/toys")["items"]
        return [toy.get("status", {}).get("count", -1) for toy in found]

    def settles(self, count: int, *, limit_seconds: float = 40) -> None:
        """Wait until every toy has exactly its parts and says so."""
        wanted = {f"t{toy}-{number}" for toy in range(TOYS) for number in range(count)}

        def settled() -> bool:
            try:
                return set(self.parts()) == wanted and self.reported() == [count] * TOYS
            except (ApiError, OSError):  # the API server is down: not settled
                return False

        try:
            wait_until(f"{TOYS} toys have {count} parts each", settled, limit_seconds=limit_seconds)
        except TimeoutError as error:
            logs = "\n".join(f"--- {name}\n{process.tail(15)}" for name, process in self.processes.items())
            raise AssertionError(f"{error}\n{sorted(self.parts())}\n{self.reported()}\n{logs}") from None


@pytest.fixture(scope="session")
def toy_crd(control_plane: ControlPlane) -> None:
    control_plane.request("POST", "apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd/toys.example.test")


@pytest.fixture
def world(
    control_plane: ControlPlane, toy_crd: None, own_nats: Nats, namespace: str, tmp_path: pathlib.Path
) -> Iterator[World]:
    world = World(control_plane, own_nats, namespace, tmp_path)
    with contextlib.ExitStack() as stack:
        stack.callback(control_plane.proxy.clear)
        for name in ("watcher-1", "reconciler-1", "reconciler-2"):
            process = world.start(name)
            stack.callback(process.kill)
        world.want(2)
        world.settles(2)
        yield world
        for process in world.processes.values():
            process.kill()


def restart_nats(world: World) -> None:
    world.nats.kill()
    world.want(4)
    world.nats.restart()


def wipe_nats(world: World) -> None:
    world.nats.wipe()


def restart_api_server(world: World) -> None:
    world.plane.kill_api_server()
    world.plane.start_api_server()
    wait_until("toys can be written", functools.partial(_can_write, world), limit_seconds=30)


def kill_a_reconciler(world: World) -> None:
    world.processes["reconciler-1"].kill()


def stop_a_reconciler(world: World) -> None:
    world.processes["reconciler-1"].stop()


def kill_the_watcher(world: World) -> None:
    world.start("watcher-2")
    world.processes["watcher-1"].kill()


def stop_the_watcher(world: World) -> None:
    world.start("watcher-2")
    world.processes["watcher-1"].stop()


def cut_watches(world: World) -> None:
    world.plane.proxy.drop_watches()


def lose_answers(world: World) -> None:
    world.plane.proxy.inject(Fault(method="POST", path="configmaps", status=504, applied=True, times=5))
    world.plane.proxy.inject(Fault(method="PATCH", path="toys", status=500, applied=True, times=3))


def refuse_writes(world: World) -> None:
    world.plane.proxy.inject(Fault(method="POST", path="configmaps", status=429, retry_after=1, times=5))
    world.plane.proxy.inject(Fault(method="DELETE", path="configmaps", status=503, times=5))
    world.plane.proxy.inject(Fault(method="PATCH", path="toys", status=409, times=5))


def slow_down(world: World) -> None:
    world.plane.proxy.inject(Fault(path="configmaps", delay_seconds=0.3, times=40))


FAULTS: list[Callable[[World], None]] = [
    restart_nats,
    wipe_nats,
    restart_api_server,
    kill_a_reconciler,
    stop_a_reconciler,
    kill_the_watcher,
    stop_the_watcher,
    cut_watches,
    lose_answers,
    refuse_writes,
    slow_down,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_world_settles_after(world: World, fault: Callable[[World], None]) -> None:
    fault(world)
    world.want(5)
    world.settles(5)
    world.want(1)
    world.settles(1)


def test_a_reconciler_that_slept_through_its_lease_does_no_harm(world: World) -> None:
    sleeper = world.processes["reconciler-1"]
    sleeper.pause()
    world.want(5)
    world.settles(5)
    before = world.parts()
    sleeper.resume()
    world.want(4)
    world.settles(4)
    after = world.parts()
    assert after.items() <= before.items(), "no part was made anew"


def test_a_watcher_that_slept_does_not_put_old_state_over_new(world: World) -> None:
    world.start("watcher-2")
    world.processes["watcher-1"].pause()
    world.want(5)
    world.settles(5)
    world.processes["watcher-1"].resume()
    world.want(3)
    world.settles(3)


def test_a_part_deleted_by_hand_comes_back_and_a_second_pass_does_nothing(world: World) -> None:
    before = world.parts()
    world.plane.request("DELETE", f"api/v1/namespaces/{world.namespace}/configmaps/t0-0")
    wait_until("it is there again", lambda: set(world.parts()) == set(before), limit_seconds=20)
    changed = {name for name, uid in world.parts().items() if before[name] != uid}
    assert changed == {"t0-0"}


def _can_write(world: World) -> bool:
    try:
        world.want(2)
    except (ApiError, OSError):
        return False
    return True
