"""What an example of a rule is: a sentence, one object that keeps the rule and one that breaks it."""

from collections.abc import Callable
from typing import Any

import msgspec

from manta_common.api.gates import Gates
from manta_common.api.raycluster import RayCluster
from manta_common.api.raycronjob import RayCronJob
from manta_common.api.rayjob import RayJob
from manta_common.api.rayservice import RayService
from manta_common.validation.cluster import validate_cluster
from manta_common.validation.cron_job import validate_cron_job
from manta_common.validation.job import validate_job
from manta_common.validation.problem import Problem, Rule
from manta_common.validation.service import validate_service

Json = dict[str, Any]

ALL_GATES = Gates(*(True,) * len(msgspec.structs.fields(Gates)))
DEFAULT_GATES = Gates()
NO_GATES = Gates(*(False,) * len(msgspec.structs.fields(Gates)))


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, kept and broken; good and bad are whole manifests, or patches to a spec that has no fault."""

    says: str
    rule: Rule
    good: Json
    bad: Json
    path: str
    message: str
    gates: Gates = ALL_GATES


def merged(onto: Any, patch: Any) -> Any:
    """One JSON value laid over another: objects field by field, everything else as a whole."""
    if not isinstance(onto, dict) or not isinstance(patch, dict):
        return patch
    return onto | {key: merged(onto.get(key), value) for key, value in patch.items()}


def problems(manifest: Json, gates: Gates) -> list[Problem]:
    """What validation finds in a manifest of any of the four kinds."""
    body, kind = msgspec.json.encode(manifest), manifest["kind"]
    checks: dict[str, Callable[[], list[Problem]]] = {
        "RayCluster": lambda: validate_cluster(msgspec.json.decode(body, type=RayCluster), gates),
        "RayJob": lambda: validate_job(msgspec.json.decode(body, type=RayJob), gates),
        "RayService": lambda: validate_service(msgspec.json.decode(body, type=RayService), gates),
        "RayCronJob": lambda: validate_cron_job(msgspec.json.decode(body, type=RayCronJob), gates),
    }
    return checks[kind]()
