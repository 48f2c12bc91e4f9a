"""KubeRay's feature gates: their names, their defaults, and the text by which users set them."""

import difflib
from typing import Final, Self

import msgspec

ALPHA_GROUP: Final = "AllAlpha"
BETA_GROUP: Final = "AllBeta"
# Go's strconv.ParseBool.
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class GateError(ValueError):
    """A feature gate text that cannot be read; the message says which part and what was meant."""


class Gates(msgspec.Struct, frozen=True):
    """Which features are on; the defaults are those of KubeRay 1.7.0."""

    status_conditions: bool = msgspec.field(default=True, name="RayClusterStatusConditions")
    deletion_policy: bool = msgspec.field(default=True, name="RayJobDeletionPolicy")
    multi_host_indexing: bool = msgspec.field(default=True, name="RayMultiHostIndexing")
    incremental_upgrade: bool = msgspec.field(default=True, name="RayServiceIncrementalUpgrade")
    cron_job: bool = msgspec.field(default=False, name="RayCronJob")
    sidecar_restart: bool = msgspec.field(default=False, name="SidecarSubmitterRestart")
    network_policy: bool = msgspec.field(default=False, name="RayClusterNetworkPolicy")
    embedded_storage: bool = msgspec.field(default=False, name="GCSFaultToleranceEmbeddedStorage")
    mtls: bool = msgspec.field(default=False, name="RayClusterMTLS")
    history_server: bool = msgspec.field(default=False, name="RayClusterHistoryServer")
    workload_scheduling: bool = msgspec.field(default=False, name="KubernetesWAS")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the gates that a text like `RayCronJob=true,RayClusterMTLS=false` sets, the others by default."""
        asked = dict(_pair(part.strip()) for part in text.split(",") if part.strip())
        chosen = {name: _chosen(name, default=default, asked=asked) for name, default in defaults().items()}
        return msgspec.convert(chosen, cls)


def defaults() -> dict[str, bool]:
    """Return every gate's name with its default; what is on by default is beta, what is off is alpha."""
    return {field.encode_name: bool(field.default) for field in msgspec.structs.fields(Gates)}


def _chosen(name: str, *, default: bool, asked: dict[str, bool]) -> bool:
    group = BETA_GROUP if default else ALPHA_GROUP
    return asked.get(name, asked.get(group, default))


def _pair(part: str) -> tuple[str, bool]:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    known = [*defaults(), ALPHA_GROUP, BETA_GROUP]
    if name not in known:
        raise GateError(f"unknown feature gate {name!r}{_meant(name, known)}")
    if not equals:
        raise GateError(f"feature gate {name} has no value: write {name}=true or {name}=false")
    if value not in _TRUE | _FALSE:
        raise GateError(f"feature gate {name} must be true or false, not {value!r}")
    return name, value in _TRUE


def _meant(name: str, known: list[str]) -> str:
    lowered = {gate.lower(): gate for gate in known}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    return f": did you mean {lowered[near[0]]!r}?" if near else f": known are {', '.join(known)}"
