"""A node that reaches its API by HTTP only."""

import pathlib

from manta_common.kube.client import connect
from manta_common.kube.settings import KubeSettings
from manta_embedded.api.serve import serve
from manta_embedded.api.settings import ApiSettings
from tests.integration.node_world import NodeWorld, shell


async def test_a_pod_over_http(tmp_path: pathlib.Path) -> None:
    async with (
        serve(ApiSettings(folder=tmp_path / "api", persistent=False)) as api,
        connect(KubeSettings(service="node"), kubeconfig=str(api.kubeconfig)) as kube,
    ):
        world = NodeWorld(api.store, tmp_path / "node", far=kube, tokens=api.token_for)
        await world.start()
        try:
            world.pod("one", shell("echo from afar; exec sleep 1000"), terminationGracePeriodSeconds=1)
            await world.ready("one")
            assert await world.first_words("one") == "from afar\n"
            assert await world.run("one", "hostname") == (0, "one\n")
            await world.until("it is told", lambda: {"Scheduled", "Started"} <= set(world.events("one")))
            world.delete("one")
            await world.gone("one")
        finally:
            await world.stop()
