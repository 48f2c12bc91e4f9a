"""The control plane of a comparison: operators have an account of their own, so that their requests can be counted."""

import collections
import json
import pathlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from tests.bench.beforehand import until_calm
from tests.integration.job_world import CLUSTER
from tests.parts import crds
from tests.parts.control_plane import SYSTEM_USERS, ControlPlane
from tests.tools.build import ensure
from tests.tools.catalogue import TOOLS

OPERATOR = "operator"
OWNERS: dict[str, dict[str, Any]] = {
    "RayService": {"rayClusterConfig": CLUSTER},
    "RayJob": {"rayClusterSpec": CLUSTER},
    "RayCluster": CLUSTER,
}
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [OPERATOR]}, {"level": "None"}],
}


class SidePlane(ControlPlane):
    """A control plane that writes down what its user `operator` asks for."""

    users: ClassVar[Mapping[str, str]] = {**SYSTEM_USERS, OPERATOR: "system:masters"}

    def _write_identities(self) -> None:
        super()._write_identities()
        (self.folder / "audit.json").write_text(json.dumps(POLICY))

    def _api_server_flags(self) -> list[str]:
        return [*super()._api_server_flags(), "--audit-log-maxsize=10000"]  # one file, however long it gets

    @property
    def operator_kubeconfig(self) -> pathlib.Path:
        """How an operator gets in."""
        return self._kubeconfig(OPERATOR, self.server, self.ca)

    def service_account(self, folder: pathlib.Path) -> pathlib.Path:
        """The same as a pod has it: a folder with the token and the certificate of the authority."""
        folder.mkdir()
        (folder / "token").write_text(self.tokens[OPERATOR])
        (folder / "ca.crt").write_bytes(self.ca.read_bytes())
        return folder

    @contextmanager
    def nodes_paused(self) -> Iterator[None]:
        """Nobody schedules or runs a pod."""
        for process in (self.scheduler, self.kwok):
            process.pause()
        try:
            yield
        finally:
            for process in (self.scheduler, self.kwok):
                process.resume()

    def asked(self) -> int:
        """A place in the book of requests: how long it is now."""
        return self.audit_log.stat().st_size if self.audit_log.exists() else 0

    def requests(self, since: int) -> dict[str, int]:
        """What the operator has asked for since then, by verb."""
        if not self.audit_log.exists():
            return {}
        with self.audit_log.open("rb") as log:
            log.seek(since)
            return counted(log)


def counted(lines: Iterator[bytes] | list[bytes]) -> dict[str, int]:
    """How many requests of each verb a book of requests holds; one that has begun and ended counts once."""
    verbs: dict[str, str] = {}
    for line in lines:
        if line.endswith(b"\n"):  # the last one may not be whole yet
            event = json.loads(line)
            verbs[event["auditID"]] = event["verb"]
    return dict(collections.Counter(verbs.values()))


@contextmanager
def fresh(folder: pathlib.Path) -> Iterator[SidePlane]:
    """A new control plane with Ray's kinds, at rest."""
    ensure([TOOLS["kuberay"]])
    plane = SidePlane.start(folder)
    assert isinstance(plane, SidePlane)
    try:
        crds.install(plane)
        until_calm(plane, OWNERS)
        yield plane
    finally:
        plane.stop()
