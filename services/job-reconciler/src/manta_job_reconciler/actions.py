"""What a pass may do for a RayJob or RayCronJob; each action is carried out by one branch of `execute`."""

from datetime import datetime
from typing import Any

import msgspec

from manta_common.api.rayjob import RayJobStatus
from manta_common.deeds import Recheck, Tell


class AddFinalizer(msgspec.Struct, frozen=True, tag=True):
    """See to it that the job is not gone before its Ray job is stopped."""


class RemoveFinalizer(msgspec.Struct, frozen=True, tag=True):
    """Let the job go."""


class CreateCluster(msgspec.Struct, frozen=True, tag=True):
    """Make the cluster that the job runs on."""

    name: str


class DeleteCluster(msgspec.Struct, frozen=True, tag=True):
    """Delete the cluster of an attempt that is over."""

    name: str
    uid: str
    because: str


class CreateSubmitter(msgspec.Struct, frozen=True, tag=True):
    """Make the Kubernetes Job that submits."""

    dashboard_url: str


class DeleteSubmitter(msgspec.Struct, frozen=True, tag=True):
    """Delete the submitting Job of an attempt that is over."""

    uid: str
    because: str


class CreateService(msgspec.Struct, frozen=True, tag=True):
    """Make the Service that always leads to the head of the job's present cluster."""


class MoveService(msgspec.Struct, frozen=True, tag=True):
    """Let that Service lead to the present cluster's head."""

    version: str


class Submit(msgspec.Struct, frozen=True, tag=True):
    """Hand the job to Ray; when that fails, `otherwise` is what the status is to say."""

    otherwise: RayJobStatus


class StopJob(msgspec.Struct, frozen=True, tag=True):
    """Ask Ray to stop the job; `required` makes a failure one of the pass."""

    required: bool


class Confirm(msgspec.Struct, frozen=True, tag=True):
    """Ask Ray whether the job has not ended after all; when Ray cannot be asked, the status says `otherwise`.

    `absent`: whether there is no such job, running or not.
    """

    otherwise: RayJobStatus
    absent: bool = False


class RequireNoHead(msgspec.Struct, frozen=True, tag=True):
    """Ask the API server whether the cluster has no head pod: kinds are watched one by one, and pods may come late."""


class FitGang(msgspec.Struct, frozen=True, tag=True):
    """Bring what a batch scheduler needs to the size that the job's pods have; `ending` when the attempt is over."""

    ending: bool = False


class WriteStatus(msgspec.Struct, frozen=True, tag=True):
    """Write what changed of the status.

    `with_log` adds the last lines of the driver's log to the message, `with_answer` what Ray says of a job that it has
    just been given, so that its first status needs no write of its own.
    """

    status: RayJobStatus
    with_log: bool = False
    with_answer: bool = False


class CreateJob(msgspec.Struct, frozen=True, tag=True):
    """Make the RayJob of a tick."""

    manifest: dict[str, Any]


class DeleteJob(msgspec.Struct, frozen=True, tag=True):
    """Delete a RayJob that a new one replaces."""

    name: str
    uid: str
    because: str


class WriteSchedule(msgspec.Struct, frozen=True, tag=True):
    """Write the last tick; `version` is the one it was decided on."""

    last_schedule_time: datetime
    version: str


Action = (
    AddFinalizer
    | RemoveFinalizer
    | CreateCluster
    | DeleteCluster
    | CreateSubmitter
    | DeleteSubmitter
    | CreateService
    | MoveService
    | Submit
    | StopJob
    | Confirm
    | RequireNoHead
    | FitGang
    | WriteStatus
    | Tell
    | Recheck
)
CronAction = CreateJob | DeleteJob | WriteSchedule | Tell | Recheck
