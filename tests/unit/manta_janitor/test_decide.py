"""What the janitor does and announces for an ended RayJob."""

from typing import Any

import msgspec

from manta_common.deeds import Recheck
from manta_janitor.actions import Announce, CarryOut, JobAction
from manta_janitor.decide import decide
from manta_janitor.observed import Ended, JanitorSettings, Said
from manta_janitor.policies.endings import plan
from tests.unit.manta_janitor.test_endings import SHUTDOWN, THREE, after, cluster, job


def acts(ended: Ended, seconds: float) -> list[JobAction]:
    return [action for phase in decide(ended, plan(ended, JanitorSettings(), after(seconds))) for action in phase]


def said(status: str, message: str, **about: Any) -> Ended:
    made = job(**SHUTDOWN)
    condition = Said(type="CleanupScheduled", status=status, message=message)
    status_ = msgspec.structs.replace(made.status, conditions=(condition,))
    return Ended(job=msgspec.structs.replace(made, status=status_), **about)


MESSAGE = "the RayCluster will be deleted at 2026-01-02T03:04:15Z by shutdownAfterJobFinishes"


def test_what_will_be_deleted_is_announced() -> None:
    found = acts(Ended(job=job(**SHUTDOWN), cluster=cluster(False)), 5)
    assert found == [Recheck(after(10)), Announce("True", "DeleteCluster", MESSAGE)]


def test_an_announcement_is_not_repeated() -> None:
    assert acts(said("True", MESSAGE, cluster=cluster(False)), 5) == [Recheck(after(10))]


def test_what_is_due_is_done_without_an_announcement() -> None:
    (found,) = acts(Ended(job=job(**SHUTDOWN), cluster=cluster(False)), 10)
    assert isinstance(found, CarryOut)
    assert found.deletion.policy == "DeleteCluster"


def test_when_all_is_done_the_announcement_ends() -> None:
    (found,) = acts(said("True", MESSAGE), 11)
    assert isinstance(found, Announce)
    assert (found.status, found.reason) == ("False", "CleanedUp")


def test_a_rule_that_was_taken_back_ends_the_announcement() -> None:
    announced = said("True", MESSAGE, cluster=cluster(False))
    kept = msgspec.structs.replace(announced.job, spec=job().spec)
    (found,) = acts(Ended(job=kept, cluster=cluster(False)), 5)
    assert isinstance(found, Announce)
    assert found.reason == "NothingToCleanUp"


def test_the_next_rule_is_announced_while_one_is_carried_out() -> None:
    later, done, announced = acts(Ended(job=job(**THREE), cluster=cluster(False)), 10)
    assert isinstance(announced, Announce)
    assert isinstance(done, CarryOut)
    assert (announced.reason, done.deletion.policy, later) == ("DeleteCluster", "DeleteWorkers", Recheck(after(20)))
