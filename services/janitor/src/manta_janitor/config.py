"""The settings of the janitor: KubeRay's switches under Manta's names and KubeRay's, and our own."""

from typing import Annotated, ClassVar

from msgspec import Meta

import manta_common.config
from manta_common.api import env
from manta_common.api.names import DEFAULT_DOMAIN
from manta_common.ray.settings import RaySettings
from manta_janitor.clusters import CleanupSettings
from manta_janitor.observed import JanitorSettings


def _kuberay(name: str, meaning: str) -> Meta:
    """A switch that KubeRay's operator has too; its variable counts unless ours is set."""
    return Meta(description=f"{meaning} KubeRay's `{name}`.", extra={"also": name})


class Config(manta_common.config.Config, frozen=True, kw_only=True):
    """What is deleted, and how."""

    SERVICE: ClassVar[str] = "janitor"

    delete_jobs: Annotated[
        bool,
        _kuberay(
            env.OPERATOR_DELETE_JOB, "With `shutdownAfterJobFinishes` the RayJob goes too, not its cluster alone."
        ),
    ] = False
    redis_cleanup: Annotated[
        bool, _kuberay(env.OPERATOR_REDIS_CLEANUP, "A deleted cluster's keys are removed from Redis.")
    ] = True
    cluster_domain: Annotated[str, _kuberay(env.OPERATOR_CLUSTER_DOMAIN, "The cluster's domain in DNS.")] = (
        DEFAULT_DOMAIN
    )
    login_shell: Annotated[bool, _kuberay(env.OPERATOR_LOGIN_SHELL, "Clean-ups use a login shell.")] = False
    concurrency: Annotated[int, Meta(ge=1, le=1000, description="Deletions at the same time.")] = 32

    def settings(self) -> CleanupSettings:
        """What decisions depend on."""
        ray = RaySettings(gates=self.feature_gates, cluster_domain=self.cluster_domain, login_shell=self.login_shell)
        janitor = JanitorSettings(
            gates=self.feature_gates, deletes_jobs=self.delete_jobs, cleans_redis=self.redis_cleanup
        )
        return CleanupSettings(janitor=janitor, ray=ray)
