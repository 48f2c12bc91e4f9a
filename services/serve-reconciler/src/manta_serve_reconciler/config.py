"""The settings of the serve-reconciler: KubeRay's switches under Manta's names and KubeRay's, and our own."""

from typing import Annotated, ClassVar

from msgspec import Meta

import manta_common.config
from manta_common.api import env
from manta_common.config import kuberay
from manta_serve_reconciler.observed import ServeSettings


class Config(manta_common.config.Config, frozen=True, kw_only=True):
    """How RayServices are run."""

    SERVICE: ClassVar[str] = "serve-reconciler"

    zero_downtime: Annotated[
        bool,
        kuberay(
            env.OPERATOR_ZERO_DOWNTIME,
            "A RayService that names no upgrade type gets a new cluster when its cluster's spec changes.",
        ),
    ] = True
    upgrade_deadline_seconds: Annotated[
        int,
        Meta(
            ge=0,
            description="How long a new cluster may take to become ready before it is given up; 0: for ever.",
        ),
    ] = 0
    concurrency: Annotated[int, Meta(ge=1, le=1000, description="RayServices worked on at the same time.")] = 64

    def serve_settings(self) -> ServeSettings:
        """What decisions depend on."""
        return ServeSettings(
            ray=self.ray_settings(),
            zero_downtime=self.zero_downtime,
            upgrade_deadline_seconds=self.upgrade_deadline_seconds,
        )
