"""Two replicas of all services on a real API server and a real NATS, each behind a fault proxy of its own."""

import pathlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from manta_common.kinds import RAYCLUSTER, RAYJOB, SERVICEACCOUNT, Kind
from manta_embedded.store.objects import Obj
from tests.model.campaign.picture import KINDS, Picture, drawn
from tests.parts.cluster import ApiError
from tests.parts.control_plane import ControlPlane
from tests.parts.fault_proxy import FaultProxy
from tests.parts.kubeconfig import write_kubeconfig
from tests.parts.nats import Nats
from tests.parts.ports import free_port
from tests.parts.process import Process, wait_until
from tests.parts.stub_dashboard import StubDashboard

MANTA = str(pathlib.Path(sys.executable).parent / "manta")
MERGE = "application/merge-patch+json"
LIMIT_SECONDS = 60.0
QUIET_SECONDS = 3.0


class Replica:
    """One process with all services, and the proxy that it sees the API server through."""

    def __init__(self, name: str, plane: ControlPlane, *flags: str, settings: Mapping[str, str]) -> None:
        folder = plane.folder / name
        folder.mkdir()
        self.proxy = FaultProxy(plane.server, ca=plane.ca, certificate=plane.folder / "server.pem")
        self.proxy.start()
        kubeconfig = write_kubeconfig(folder / "kubeconfig", server=self.proxy.url, ca=plane.ca, token=plane.token)
        command = [MANTA, "up", "--kubeconfig", str(kubeconfig), "--http", f"127.0.0.1:{free_port()}"]
        command += ["--data", str(folder), *flags]
        self.process = Process(name, command, folder / "log", environment=settings)
        self.process.start()

    def end(self) -> None:
        """End the process and its proxy."""
        self.process.kill()
        self.proxy.stop()


class System:
    """The replicas, what they need, and the namespaces they look after."""

    origin = "two replicas of `manta up`"

    def __init__(self, plane: ControlPlane, nats: Nats, stub: StubDashboard, namespaces: Sequence[str]) -> None:
        self.nats, self.stub = nats, stub
        flags = ["--nats", nats.url, "--watch-namespaces", ",".join(namespaces)]
        settings = {
            "MANTA_DASHBOARD_GATEWAY_REACH": stub.dashboard_url.removeprefix("http://"),
            "MANTA_JOB_RECONCILER_DELAY_RETRIES": "false",
        }
        stem = namespaces[0]
        self.replicas = [Replica(f"{stem}-{number}", plane, *flags, settings=settings) for number in (1, 2)]

    def restore(self) -> None:
        """Whoever is dead or stopped comes back, and nothing goes wrong any more."""
        for replica in self.replicas:
            replica.proxy.clear()
            replica.process.resume() if replica.process.alive else replica.process.start()

    def rest(self) -> None:
        """Wait until nobody has written for a while."""
        wait_until("nobody writes any more", self._is_quiet, limit_seconds=LIMIT_SECONDS)

    def end(self) -> None:
        """End everything that was started here."""
        for replica in self.replicas:
            replica.end()

    def tail(self) -> str:
        """The ends of the logs."""
        return "\n".join(f"--- {one.process.name}\n{one.process.tail(12)}" for one in self.replicas)

    def _is_quiet(self) -> bool:
        last = max((write.at for replica in self.replicas for write in replica.proxy.writes), default=0.0)
        return time.monotonic() - last > QUIET_SECONDS


class Stage:
    """One namespace, and what users do in it."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.namespace = plane, namespace

    def create(self, kind: Kind, manifest: Mapping[str, Any]) -> None:
        """Create an object."""
        self.plane.request("POST", kind.path(self.namespace), manifest)

    def change(self, kind: Kind, name: str, **spec: Any) -> None:
        """Merge something into the spec of an object."""
        self.plane.request("PATCH", kind.path(self.namespace, name), {"spec": spec}, MERGE)

    def delete(self, kind: Kind, name: str) -> None:
        """Delete an object."""
        self.plane.request("DELETE", kind.path(self.namespace, name))

    def find(self, kind: Kind, name: str) -> Obj | None:
        """An object, if it is there."""
        return self.plane.find(kind.path(self.namespace, name))

    def objects(self, kind: Kind) -> list[Obj]:
        """All objects of a kind."""
        found: list[Obj] = self.plane.request("GET", kind.path(self.namespace))["items"]
        return found

    def until(self, what: str, check: Callable[[], object]) -> None:
        """Wait, within the limit of all waits here."""
        wait_until(f"{self.namespace}: {what}", lambda: bool(check()), limit_seconds=LIMIT_SECONDS)

    def picture(self) -> Picture:
        """What it looks like, as in a campaign on the simulator."""
        found = [(kind, obj) for kind in KINDS for obj in self.objects(kind)]
        plain = drawn([(kind, obj) for kind, obj in found if not _is_given(kind, obj)])
        return Picture({line.replace(self.namespace, "NAMESPACE"): count for line, count in plain.items()})

    def clear(self) -> None:
        """Remove what was played before."""
        for kind in (RAYJOB, RAYCLUSTER):
            for obj in self.objects(kind):
                self._remove(kind, obj["metadata"]["name"])
        self.until("it is empty", lambda: not self.picture())

    def _remove(self, kind: Kind, name: str) -> None:
        """Delete an object, which may have gone with its owner meanwhile."""
        try:
            self.delete(kind, name)
        except ApiError as error:
            if error.code != 404:
                raise


def _is_given(kind: Kind, obj: Obj) -> bool:
    """Whether every namespace has it."""
    return kind is SERVICEACCOUNT and obj["metadata"]["name"] == "default"
