"""What the janitor may do; each action is carried out by one branch of `execute`."""

from typing import Literal

import msgspec

from manta_common.deeds import Recheck
from manta_janitor.policies.endings import Deletion


class CarryOut(msgspec.Struct, frozen=True, tag=True):
    """Delete what is due; the job is read and decided on once more before."""

    deletion: Deletion


class Announce(msgspec.Struct, frozen=True, tag=True):
    """Say in the job's condition what will be deleted when, or that nothing will."""

    status: Literal["True", "False"]
    reason: str
    message: str


class DeletePod(msgspec.Struct, frozen=True, tag=True):
    """Delete a pod of a cluster that is being deleted."""

    name: str
    uid: str
    because: str


class CreateCleanup(msgspec.Struct, frozen=True, tag=True):
    """Make the Job that removes the cluster's keys from Redis."""


class CleanRedis(msgspec.Struct, frozen=True, tag=True):
    """Remove the cluster's keys from Redis without a Job."""


class RemoveFinalizer(msgspec.Struct, frozen=True, tag=True):
    """Let the cluster go; `forced` when its keys may still be in Redis."""

    because: str
    forced: bool = False


JobAction = CarryOut | Announce | Recheck
ClusterAction = DeletePod | CreateCleanup | CleanRedis | RemoveFinalizer | Recheck
