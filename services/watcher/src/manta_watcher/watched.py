"""What the watcher watches: kinds, parents first, each with the selectors of the objects that matter."""

from collections.abc import Sequence
from typing import Any

import msgspec

from manta_common.api.core import EndpointSlice, Job, Pod, Service
from manta_common.api.labels import (
    CREATED_BY,
    CREATED_BY_VALUE,
    HEADLESS_WORKER_SERVICE,
    JOB_NAME,
    NODE_TYPE,
    SERVE,
)
from manta_common.api.raycluster import RayCluster
from manta_common.api.raycronjob import RayCronJob
from manta_common.api.rayjob import RayJob
from manta_common.api.rayservice import RayService
from manta_common.kinds import ENDPOINTSLICE, JOB, POD, RAYCLUSTER, RAYCRONJOB, RAYJOB, RAYSERVICE, SERVICE, Kind
from manta_common.kube.protocol import Scope

OURS = f"{CREATED_BY}={CREATED_BY_VALUE}"


class Watched(msgspec.Struct, frozen=True):
    """One kind, the type it is trimmed to, and the label selectors of what is watched of it."""

    kind: Kind
    type: Any
    labels: tuple[str, ...] = ("",)

    def scopes(self, namespaces: Sequence[str]) -> list[Scope]:
        """Everything that must be listed and watched; without namespaces, the whole cluster."""
        return [Scope(namespace=place, labels=labels) for place in namespaces or ("",) for labels in self.labels]


WATCHED = (
    Watched(RAYCRONJOB, RayCronJob),
    Watched(RAYSERVICE, RayService),
    Watched(RAYJOB, RayJob),
    Watched(RAYCLUSTER, RayCluster),
    Watched(JOB, Job, (OURS,)),
    Watched(SERVICE, Service, (NODE_TYPE, SERVE, HEADLESS_WORKER_SERVICE)),
    Watched(ENDPOINTSLICE, EndpointSlice, (SERVE,)),  # it bears the labels of its Service
    Watched(POD, Pod, (NODE_TYPE, f"{OURS},{JOB_NAME}")),
)
