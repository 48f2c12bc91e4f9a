"""RayServices that cannot be served."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from typing import Final

from manta_common.api import annotations
from manta_common.api.gates import Gates
from manta_common.api.rayservice import RayService
from manta_common.deeds import Tell
from manta_common.validation.beyond import child_problems
from manta_common.validation.problem import Problem, retold
from manta_common.validation.service import (
    ANNOTATIONS_PREFIX,
    METADATA_PREFIX,
    SPEC_PREFIX,
    metadata_problems,
    spec_problems,
)
from manta_serve_reconciler import reasons
from manta_serve_reconciler.conditions import Said, said
from manta_serve_reconciler.observed import Observed
from manta_serve_reconciler.policies import timeouts
from manta_serve_reconciler.step import Step

_METADATA: Final = "InvalidRayServiceMetadata"
_SPEC: Final = "InvalidRayServiceSpec"


def problem(service: RayService, gates: Gates) -> tuple[str, str] | None:
    """Return the event's reason and KubeRay's message of the first thing that is wrong."""
    about = next(metadata_problems(service), None)
    spec = next(chain(spec_problems(service, gates), _own_problems(service)), None)
    of_metadata = about.message if about else _deadline_problem(service)
    if of_metadata:
        return _METADATA, of_metadata
    return (_SPEC, spec.message) if spec else None


def refused(observed: Observed, event: str, message: str, now: datetime) -> Step:
    """Say what is wrong, once for each thing that is."""
    what = Said(reasons.READY, "False", reasons.VALIDATION_FAILED, message)
    status = said(observed.status, what, now)
    told = (Tell("Warning", event, "Validate", f"{observed.service.metadata.namespace}/{observed.name}: {message}"),)
    return Step(status=status, told=told)


def _own_problems(service: RayService) -> Iterator[Problem]:
    """Rules of our own: a cluster that would be refused once it is made."""
    found = child_problems(service.spec.ray_cluster_config, "spec.rayClusterConfig", kind="RayService")
    return retold(found, SPEC_PREFIX)


def _deadline_problem(service: RayService) -> str | None:
    """What is wrong with an annotation of our own."""
    value = service.metadata.annotations.get(annotations.UPGRADE_TIMEOUT, "")
    if not value or timeouts.is_readable(value):
        return None
    told = f"annotation {annotations.UPGRADE_TIMEOUT} must be a positive duration or a positive number of seconds"
    return f"{METADATA_PREFIX}{ANNOTATIONS_PREFIX}{told}, got: {value}"
