"""Services on a process node: their own addresses, their ports on this machine, and their names in pods."""

import functools
import pathlib

import aiohttp

from manta_common.keys import Key
from manta_common.kinds import POD, SERVICE
from manta_common.kube.protocol import MergePatch
from tests.integration.node_world import NodeWorld, node_world
from tests.parts.eventually import eventually

LIMIT_SECONDS = 60.0
SERVER = """
import http.server, os

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.uname().nodename.encode())

http.server.HTTPServer(("", 8000), Handler).serve_forever()
"""
ASK = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=30).read().decode())"


def start(world: NodeWorld, name: str) -> None:
    """A pod that says its name to whoever asks."""
    probe = {"httpGet": {"port": 8000}, "periodSeconds": 1}
    container = {"name": "main", "image": "x", "command": ["python3", "-c", SERVER], "readinessProbe": probe}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 1}
    world.create(POD, {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec})


async def said(url: str) -> str | None:
    """What is answered at an address; None when nobody answers."""
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return await answer.text()
    except (aiohttp.ClientError, OSError):
        return None


async def test_a_service_is_reached_by_its_address_its_name_and_a_port_of_this_machine(tmp_path: pathlib.Path) -> None:
    async with node_world(tmp_path) as world:
        start(world, "blue")
        start(world, "green")
        ports = [{"name": "web", "port": 80, "targetPort": 8000}]
        given = {"type": "NodePort", "selector": {"app": "blue"}, "ports": ports}
        spec = world.create(SERVICE, {"metadata": {"name": "paint"}, "spec": given})["spec"]
        own, machine = f"http://{spec['clusterIP']}/", f"http://127.0.0.1:{spec['ports'][0]['nodePort']}/"
        await world.ready("blue")
        await world.ready("green")
        for url in (own, machine):
            ask = functools.partial(said, url)
            assert await eventually("it answers", ask, limit_seconds=LIMIT_SECONDS) == "blue"
        for url in (own, "http://paint/", "http://paint.default.svc.cluster.local/"):
            assert await world.run("green", "python3", "-c", ASK, url) == (0, "blue\n")
        world.store.patch(SERVICE, Key("default", "paint"), MergePatch({"spec": {"selector": {"app": "green"}}}))

        async def is_green() -> bool | None:
            return [await said(own), await said(machine)] == ["green", "green"] or None

        await eventually("it leads to the other", is_green, limit_seconds=LIMIT_SECONDS)
        world.store.delete(SERVICE, Key("default", "paint"))

        async def is_gone() -> bool | None:
            return await said(machine) is None or None

        await eventually("nobody listens any more", is_gone, limit_seconds=LIMIT_SECONDS)
