"""What a service may do: with the Kubernetes API, and on the bus. Each service declares its own, beside its code.

The chart's roles and NATS' users are made from these declarations, and the tests that run the services with exactly
these rights show that none is missing and none too many.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from manta_common.kinds import EVENT, Kind

NAME_TAKEN = "read only when a name is taken, by ourselves before a crash or by somebody else"
OWNER = "asked by OwnerReferencesPermissionEnforcement of whoever makes an owner wait for its children"
_REPEATED = "an event that comes again is counted up"

When = Literal[
    "always",
    "openshift",
    "networkPolicy",
    "embeddedStorage",
    "mtls",
    "volcano",
    "schedulerPlugins",
    "workloads",
    "dashboardProxy",
    "redisByJanitor",
    "orphans",
    "cron",
    "incrementalUpgrade",
]


class Right(msgspec.Struct, frozen=True, kw_only=True):
    """Some verbs on a kind or a part of it. One that no call shows, since the API server asks for it, says why."""

    kind: Kind
    verbs: tuple[str, ...]
    part: str = ""
    when: When = "always"
    why: str = ""

    @property
    def resource(self) -> str:
        """As a role names it."""
        return f"{self.kind.plural}/{self.part}" if self.part else self.kind.plural


class BusRights(msgspec.Struct, frozen=True, kw_only=True):
    """What a service may say on the bus, beside what every service must."""

    publishes: tuple[str, ...] = ()  # words of kinds in the state stream
    calls: tuple[str, ...] = ()  # services that it asks
    answers: tuple[str, ...] = ()  # names under which it is asked


class Rights(msgspec.Struct, frozen=True, kw_only=True):
    """All that one service may do. `planes` are the names under which it shares its work."""

    service: str
    kubernetes: tuple[Right, ...]
    planes: tuple[str, ...]
    bus: BusRights = BusRights()


def right(kind: Kind, verbs: str, *, part: str = "", when: When = "always", why: str = "") -> Right:
    """A right with its verbs in one text."""
    return Right(kind=kind, verbs=tuple(verbs.split()), part=part, when=when, why=why)


def events() -> tuple[Right, Right]:
    """Telling users what happens."""
    return right(EVENT, "create"), right(EVENT, "patch", why=_REPEATED)


def rules(rights: Iterable[Right]) -> list[dict[str, Any]]:
    """The rules of a role, each with the condition `when` it counts; those that differ in the resource only are one."""
    found: dict[tuple[When, str, tuple[str, ...]], list[str]] = {}
    for (when, group, resource), verbs in _merged(rights).items():
        found.setdefault((when, group, tuple(sorted(verbs))), []).append(resource)
    return [
        {"when": when, "apiGroups": [group], "resources": sorted(resources), "verbs": list(verbs)}
        for (when, group, verbs), resources in sorted(found.items())
    ]


def _merged(rights: Iterable[Right]) -> Mapping[tuple[When, str, str], set[str]]:
    found: dict[tuple[When, str, str], set[str]] = {}
    for one in rights:
        found.setdefault((one.when, one.kind.group, one.resource), set()).update(one.verbs)
    return found
