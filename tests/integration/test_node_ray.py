"""Real Ray on a process node: clusters made by Manta's own services on the embedded API."""

import asyncio
import pathlib

import pytest

from manta_common.keys import Key
from manta_common.kinds import POD
from tests.integration.node_ray import RayWorld, ray_world

pytestmark = pytest.mark.timeout(600)
COUNT = "import ray; ray.init(); print(sum(one['Alive'] for one in ray.nodes()), ray.cluster_resources()['CPU'])"


def head_of(world: RayWorld, cluster: str) -> str:
    """The name of a cluster's head pod."""
    found = [
        pod["metadata"]["name"]
        for pod in world.store.objects(POD)
        if pod["metadata"]["labels"].get("ray.io/cluster") == cluster
        and pod["metadata"]["labels"]["ray.io/node-type"] == "head"
    ]
    return str(found[0])


async def test_two_clusters_at_the_same_ports(tmp_path: pathlib.Path) -> None:
    async with ray_world(tmp_path) as world:
        world.cluster("one", workers=1)
        await world.until_ready("one", workers=1)
        world.cluster("two", workers=0)
        await world.until_ready("two", workers=0)
        counts = await asyncio.gather(
            *(world.run(head_of(world, name), "python", "-c", COUNT, container="ray-head") for name in ("one", "two"))
        )
        assert [(code, said.splitlines()[-1]) for code, said in counts] == [(0, "2 2.0"), (0, "1 1.0")]
        reader, writer = await world.node.connect(world.store.get(POD, Key("default", head_of(world, "two"))), 8265)
        writer.write(b"GET /api/version HTTP/1.0\r\n\r\n")
        assert b'"ray_version": "2.60.0"' in await reader.read()
        writer.close()


WORK = """
import ray, time

ray.init()


@ray.remote(num_cpus=0)
class Meeting:
    def __init__(self):
        self.here = set()

    def come(self, number):
        self.here.add(number)
        return len(self.here)

@ray.remote(num_cpus=1)
def work(meeting, number):
    while ray.get(meeting.come.remote(number)) < 2:
        time.sleep(0.2)
    return ray.util.get_node_ip_address()

meeting = Meeting.remote()
print(len(set(ray.get([work.remote(meeting, number) for number in range(2)]))))
"""


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_the_autoscaler_of_a_head_makes_and_removes_workers(tmp_path: pathlib.Path, version: str) -> None:
    async with ray_world(tmp_path) as world:
        room = {"limits": {"cpu": "500m", "memory": "512Mi"}}
        world.cluster(
            "auto",
            workers=0,
            head={"num-cpus": "0"},
            enableInTreeAutoscaling=True,
            autoscalerOptions={"version": version, "idleTimeoutSeconds": 5, "resources": room},
        )
        await world.until_ready("auto", workers=0)
        working = asyncio.create_task(world.run(head_of(world, "auto"), "python", "-c", WORK, container="ray-head"))
        await world.until("there are two workers", lambda: len(workers_of(world, "auto")) == 2, 120)
        code, said = await working
        assert code == 0
        assert "2" in said.splitlines()  # Ray goes on to tell what its autoscaler does
        await world.until("they are gone again", lambda: not workers_of(world, "auto"), 120)


def workers_of(world: RayWorld, cluster: str) -> list[str]:
    """The names of a cluster's workers."""
    return [
        pod["metadata"]["name"]
        for pod in world.store.objects(POD)
        if pod["metadata"]["labels"].get("ray.io/cluster") == cluster
        and pod["metadata"]["labels"]["ray.io/node-type"] == "worker"
    ]
