"""Probes: when they are asked and what their answers mean. Pure."""

import re
from typing import Literal

import msgspec

from manta_embedded.node.faults import config_error
from manta_embedded.store.objects import Obj

Purpose = Literal["startup", "readiness", "liveness"]
PURPOSES: tuple[Purpose, ...] = ("startup", "readiness", "liveness")
AWAITED_SECONDS = 2.0  # by a command, which takes a process
AWAITED_CHEAPLY_SECONDS = 0.5
PORT_NAME = re.compile(r"[a-z0-9-]+$")


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One probe of a container, with all defaults filled in."""

    purpose: Purpose
    command: tuple[str, ...] = ()
    scheme: str = ""
    host: str = ""
    port: int = 0
    path: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    delay_seconds: float = 0
    period_seconds: float = 10
    limit_seconds: float = 1
    successes: int = 1
    failures: int = 3
    grace_seconds: int | None = None

    @property
    def first_seconds(self) -> float:
        """When it is asked first. Readiness at once: a process that is ready sooner than its delay says so."""
        return 0 if self.purpose == "readiness" else self.delay_seconds

    def counts(self, *, success: bool, after_seconds: float) -> bool:
        """Whether an answer counts: before the delay is over, only a good one does."""
        return success or after_seconds >= self.delay_seconds


class Tally:
    """What the answers of one probe have come to."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._last: bool | None = None
        self._row = 0
        self.passes = probe.purpose == "liveness"  # a container lives until its probe says otherwise

    def count(self, *, success: bool) -> bool:
        """Count an answer; whether it changed the result."""
        self._row = self._row + 1 if success == self._last else 1
        self._last = success
        needed = self._probe.successes if success else self._probe.failures
        if self._row < needed:
            return False
        changed = self.passes != success or (not success and self._probe.purpose != "readiness")
        self.passes = success
        if not success and self._probe.purpose != "readiness":
            self._row = 0  # the container is killed; its next life counts anew
        return changed


def wait_seconds(probe: Probe, *, passes: bool) -> float:
    """Until it is asked again. One that is not ready may be asked sooner, as kubelets do, to be ready sooner."""
    if probe.purpose != "readiness" or passes:
        return probe.period_seconds
    return min(probe.period_seconds, AWAITED_SECONDS if probe.command else AWAITED_CHEAPLY_SECONDS)


def probes(container: Obj) -> list[Probe]:
    """The probes of a container."""
    found = [(purpose, container.get(f"{purpose}Probe")) for purpose in PURPOSES]
    return [_probe(purpose, given, container) for purpose, given in found if given]


def _probe(purpose: Purpose, given: Obj, container: Obj) -> Probe:
    probe = Probe(
        purpose=purpose,
        delay_seconds=given.get("initialDelaySeconds") or 0,
        period_seconds=given.get("periodSeconds") or 10,
        limit_seconds=given.get("timeoutSeconds") or 1,
        successes=given.get("successThreshold") or 1,
        failures=given.get("failureThreshold") or 3,
        grace_seconds=given.get("terminationGracePeriodSeconds"),
    )
    if action := given.get("exec"):
        return msgspec.structs.replace(probe, command=tuple(action.get("command") or ()))
    if action := given.get("httpGet"):
        headers = tuple((one["name"], one["value"]) for one in action.get("httpHeaders") or ())
        return msgspec.structs.replace(
            probe,
            scheme=(action.get("scheme") or "HTTP").lower(),
            host=action.get("host") or "",
            port=port_number(action["port"], container),
            path=action.get("path") or "/",
            headers=headers,
        )
    if action := given.get("tcpSocket"):
        return msgspec.structs.replace(
            probe, host=action.get("host") or "", port=port_number(action["port"], container)
        )
    raise config_error(f"{purpose}Probe: standalone knows exec, httpGet and tcpSocket, not {', '.join(given)}")


def port_number(port: int | str, container: Obj) -> int:
    """A port by its number or its name."""
    if isinstance(port, int):
        return port
    if port.isdigit():
        return int(port)
    for one in container.get("ports") or ():
        if one.get("name") == port:
            return int(one["containerPort"])
    raise config_error(f'container "{container["name"]}" has no port named "{port}"')
