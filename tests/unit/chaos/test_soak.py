"""The pure parts of the soak: what users wish for, slopes, the comparison of feed and list, and the judgement."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from manta_common.bus.channel import OF_JOBS
from manta_common.bus.protocol import MEMBERS, SHARDS
from manta_common.bus.stream import STATE_STREAM, stream_of
from manta_common.partitions import PARTITIONS
from tests.chaos.soak_bus import Bus, bus_complaints
from tests.chaos.soak_feed import ALL, SOME, Things, feed_complaints, versions
from tests.chaos.soak_memory import Living, course, living_complaints
from tests.chaos.soak_plan import FAILING, OWN, RETRIED, SHARED, Change, Make, Plan, Remove, Size, Wanted, job_spec
from tests.chaos.soak_services import FOLLOWED, WATCHER
from tests.chaos.soak_sockets import established
from tests.chaos.soak_truth import Fate, cluster_complaints, job_complaints

SIZE = Size(clusters=8, jobs=20, ttl_seconds=60)
EVENT = "manta_common.kube.series.Series"
THINGS = {
    "rayjob": {"n/a": {"uid": "u1", "resourceVersion": "5"}},
    "raycluster": {"n/c": {"uid": "u2", "resourceVersion": "7"}},
}
LISTED = versions(THINGS)


def plan() -> Plan:
    return Plan(SIZE, random.Random(1))


def test_users_wish_for_clusters_until_there_are_enough_then_change_them() -> None:
    users = plan()
    deeds = [users.next_cluster_deed(users.clusters) for _ in range(200)]
    assert all(isinstance(deed, Make) for deed in deeds[:8])
    assert {type(deed) for deed in deeds[8:]} >= {Change, Remove}
    assert len(users.clusters) == 8
    assert all(users.clusters[name].present and not users.clusters[name].suspended for name in users.pool)


def test_a_deleted_cluster_is_made_again_once_it_is_gone() -> None:
    users = plan()
    for _ in range(8):
        users.next_cluster_deed([])
    users.clusters["s5"] = Wanted(present=False)
    assert not isinstance(users.next_cluster_deed(["s5"]), Make)
    made = users.next_cluster_deed([])
    assert isinstance(made, Make)
    assert made.name == "s5"
    assert users.clusters["s5"] == Wanted()


def test_jobs_are_made_when_there_are_clusters_to_run_on_and_cleared_when_there_are_enough() -> None:
    users = plan()
    assert users.next_job_deed([], []) is None
    for _ in range(8):
        users.next_cluster_deed([])
    for _ in range(20):
        assert isinstance(users.next_job_deed([], []), Make)
    names = list(users.jobs)
    deeds = [users.next_job_deed(names, names[:10]) for _ in range(300)]
    assert {deed.name for deed in deeds if deed} == users.cleared | users.withdrawn
    assert users.cleared <= set(names[:10])
    assert users.withdrawn
    assert users.withdrawn <= set(names[10:])


@pytest.mark.parametrize("sort", [SHARED, FAILING, OWN, RETRIED])
def test_only_a_job_with_a_cluster_of_its_own_deletes_itself(sort: str) -> None:
    spec = job_spec(sort, "s-1", "pool", 60)
    assert ("clusterSelector" in spec) is (sort in (SHARED, FAILING))
    assert ("deletionStrategy" in spec) is ("rayClusterSpec" in spec)
    assert spec["entrypoint"].endswith("exit 1") is (sort in (FAILING, RETRIED))


@pytest.mark.parametrize(
    ("sort", "fate", "submitted", "complaints"),
    [
        pytest.param(SHARED, Fate("Complete"), 1, 0, id="ended, and nobody has deleted it"),
        pytest.param(SHARED, Fate("Complete", gone=True), 1, 1, id="gone, though nobody has deleted it"),
        pytest.param(SHARED, Fate("Failed"), 1, 1, id="failed, though it should not"),
        pytest.param(SHARED, Fate("Complete"), 2, 1, id="submitted twice"),
        pytest.param(SHARED, Fate("Complete"), 0, 1, id="never submitted"),
        pytest.param(OWN, Fate("Complete", gone=True), 1, 0, id="deleted itself"),
        pytest.param(OWN, Fate("Complete"), 1, 1, id="should have deleted itself"),
        pytest.param(RETRIED, Fate("Failed", gone=True), 2, 0, id="tried again"),
        pytest.param(RETRIED, Fate("Failed", gone=True), 1, 1, id="not tried again"),
        pytest.param(FAILING, Fate("Running"), 1, 1, id="still runs"),
    ],
)
def test_a_job_is_judged_by_its_end_and_its_submissions(sort: str, fate: Fate, submitted: int, complaints: int) -> None:
    users = plan()
    users.jobs["a"] = sort
    assert len(job_complaints(users, {"a": fate}, {"a": submitted})) == complaints


@pytest.mark.parametrize(("submitted", "complaints"), [(0, 0), (1, 0), (2, 1)])
def test_a_job_that_was_withdrawn_may_not_have_been_submitted(submitted: int, complaints: int) -> None:
    users = plan()
    users.jobs["a"] = SHARED
    users.withdrawn.add("a")
    assert len(job_complaints(users, {"a": Fate("Running", gone=True)}, {"a": submitted})) == complaints


def owned(*uids: str) -> list[dict[str, Any]]:
    return [{"metadata": {"ownerReferences": [{"uid": uid}]}} for uid in uids]


def ray_cluster(name: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "status": status}


@pytest.mark.parametrize(
    ("wanted", "found", "pods", "expected"),
    [
        pytest.param(Wanted(), {"state": "ready", "readyWorkerReplicas": 1}, 2, [], id="as wanted"),
        pytest.param(Wanted(), {"state": "ready", "readyWorkerReplicas": 1}, 3, ["has 3 pods, not 2"], id="a pod more"),
        pytest.param(Wanted(), {"state": "ready"}, 2, ["tells of 0 workers, not 1"], id="an old status"),
        pytest.param(Wanted(suspended=True), {"state": "suspended"}, 0, [], id="suspended"),
        pytest.param(Wanted(suspended=True), {"state": "ready"}, 0, ["is ready, not suspended"], id="not yet told"),
    ],
)
def test_a_cluster_is_judged_by_its_pods_and_its_status(
    wanted: Wanted, found: Mapping[str, Any], pods: int, expected: list[str]
) -> None:
    said = cluster_complaints({"c": wanted}, [ray_cluster("c", **found)], owned(*["uid-c"] * pods), owned("uid-c"))
    assert said == [f"RayCluster c {one}" for one in expected]


def test_what_nobody_wants_is_told() -> None:
    said = cluster_complaints({"c": Wanted(present=False)}, [ray_cluster("d")], owned("uid-x"), owned("uid-d"))
    assert said == ["RayCluster d is there, though nobody wants it", "1 pods of nobody"]


def page(**words: dict[str, str]) -> dict[str, dict[str, dict[str, str]]]:
    return {"jobs": words}


@pytest.mark.parametrize(
    ("pages", "complaints"),
    [
        pytest.param([page(rayjob={"n/a": "u1 5"}), page()], [], id="one of two replicas owns it"),
        pytest.param([page(), page()], ["n/a is not known"], id="nobody knows it"),
        pytest.param([page(rayjob={"n/a": "u1 4"})], ["n/a is u1 5, known as u1 4"], id="an old version"),
        pytest.param([page(rayjob={"n/a": "u0 5"})], ["n/a is u1 5, known as u0 5"], id="an earlier one of its name"),
        pytest.param([page(rayjob={"n/a": "u1 5", "n/b": "u3 1"})], ["n/b is gone"], id="one that is gone"),
        pytest.param([page(rayjob={"n/a": "u1 5"})] * 2, ["two replicas own n/a"], id="two owners"),
        pytest.param([], ["nobody follows it"], id="no replica"),
    ],
)
def test_what_replicas_know_together_is_what_is_listed(pages: list[Any], complaints: list[str]) -> None:
    assert feed_complaints(pages, {"jobs": {"rayjob": ALL}}, THINGS) == [f"jobs, rayjob: {one}" for one in complaints]


def test_every_replica_knows_all_that_it_reads_of_all_partitions() -> None:
    known = {"raycluster*": {"n/c": "u2 7"}}
    said = feed_complaints([page(**known), page()], {"jobs": {"raycluster*": ALL}}, THINGS)
    assert said == ["jobs, raycluster*: n/c is not known"]


def test_who_keeps_what_matters_only_may_know_less_but_nothing_that_is_gone() -> None:
    followed = {"jobs": {"rayjob": SOME}}
    assert feed_complaints([page()], followed, THINGS) == []
    assert feed_complaints([page(rayjob={"n/b": "u 1"})], followed, THINGS) == ["jobs, rayjob: n/b is gone"]


def test_who_reads_a_family_knows_what_belongs_to_it_and_nothing_else() -> None:
    things: Things = {
        **THINGS,
        "pod": {
            "n/plain": {"uid": "p1", "resourceVersion": "1", "ownerReferences": [{"uid": "u2"}]},
            "n/of-job": {"uid": "p2", "resourceVersion": "1", "ownerReferences": [{"uid": "u4"}]},
        },
        "job": {"n/a": {"uid": "u4", "resourceVersion": "1", "ownerReferences": [{"uid": "u1"}]}},
    }
    followed = {"jobs": {"pod": OF_JOBS}}
    assert feed_complaints([page(pod={"n/of-job": "p2 1"})], followed, things) == []
    said = feed_complaints([page(pod={"n/plain": "p1 1"})], followed, things)
    assert said == ["jobs, pod: n/of-job is not known", "jobs, pod: n/plain is gone"]


def test_a_report_goes_with_its_job() -> None:
    pages = [page(jobinfo={"n/a": "u1 99", "n/b": "u3 1"})]
    said = feed_complaints(pages, {"jobs": {"jobinfo": ALL}}, THINGS)
    assert said == ["jobs, jobinfo: a report of n/b, which is gone"]


def clean(replicas: int) -> Bus:
    planes = [*FOLLOWED, WATCHER]
    partitions = {plane: PARTITIONS if plane in FOLLOWED else 1 for plane in planes}
    return Bus(
        members=[f"{plane}.{number}" for plane in planes for number in range(replicas)],
        claims={f"{plane}.{one}": "0" for plane in planes for one in range(partitions[plane])},
        standing=LISTED,
        twice=(),
        tombstones=3,
        immortal=(),
        readers={
            STATE_STREAM: PARTITIONS * len(FOLLOWED) + 2 * replicas + 1,
            stream_of(MEMBERS): replicas * len(planes),
            stream_of(SHARDS): replicas * len(planes),
        },
    )


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_bus_with_what_should_be_there_is_clean(replicas: int) -> None:
    assert bus_complaints(clean(replicas), LISTED, replicas=replicas) == []


def test_what_is_left_on_the_bus_is_told() -> None:
    found = clean(1)
    wrong = Bus(
        members=[*found.members, "watcher.9"],
        claims={**found.claims, "watcher.0": "7", "old.1": "0"},
        standing={**LISTED, "jobinfo": {"n/z": "u 1"}},
        twice=["a"],
        tombstones=0,
        immortal=["b"],
        readers={**found.readers, STATE_STREAM: 1},
    )
    said = "\n".join(bus_complaints(wrong, LISTED, replicas=1))
    for word in ("2 members of watcher", "old.1 is there", "watcher.0 belongs to 7", "n/z, which is gone", "a stands"):
        assert word in said
    for word in ("b stays for ever", "MANTA_STATE has 1 consumers"):
        assert word in said


@pytest.mark.parametrize(
    ("values", "flat"),
    [
        pytest.param([100.0] * 60, True, id="no change"),
        pytest.param([100 + 3 * (-1) ** at for at in range(60)], True, id="up and down"),
        pytest.param([100 + at / 20 for at in range(60)], True, id="less than an allocator takes"),
        pytest.param([60 + at / 5 for at in range(60)], True, id="not warm yet"),
        pytest.param([100 + at / 2 for at in range(60)], False, id="a leak"),
        pytest.param([200 - at for at in range(60)], True, id="less and less"),
        pytest.param([100 + at / 100 for at in range(1200)], False, id="a slow leak in a long run"),
        pytest.param([100 + min(at, 300) / 10 for at in range(1200)], True, id="flat once it was warm"),
    ],
)
def test_memory_is_flat_when_its_slope_is_within_the_noise(values: list[float], flat: bool) -> None:
    assert course(list(enumerate(values))).is_flat() is flat


def test_what_is_meant_to_be_kept_may_grow() -> None:
    found = course([(at, 100 + at / 2) for at in range(60)])
    assert found.is_flat(allowed_mib=15)
    assert found.mib_per_minute == pytest.approx(30)


def test_a_course_needs_two_moments() -> None:
    with pytest.raises(ValueError, match="two moments"):
        course([(1.0, 100.0)])


@pytest.mark.parametrize(
    ("after", "complaints"),
    [
        pytest.param(Living({"run": 2}, 100_500, {}), 0, id="as before"),
        pytest.param(Living({"run": 1}, 90_000, {}), 0, id="less than before"),
        pytest.param(Living({"run": 3}, 100_000, {}), 1, id="a task more"),
        pytest.param(Living({"run": 2, "leak": 1}, 100_000, {}), 1, id="a task of another kind"),
        pytest.param(Living({"run": 2}, 110_000, {"dict": 12_000}), 1, id="objects more"),
        pytest.param(Living({"run": 2}, 100_000, {"manta_a.B": 12}), 0, id="a few of a type"),
        pytest.param(Living({"run": 2}, 100_000, {"manta_a.B": 20}), 1, id="more of a type of ours"),
        pytest.param(Living({"run": 2}, 110_000, {EVENT: 2500}), 0, id="the events of late"),
        pytest.param(Living({"run": 2}, 118_000, {EVENT: 4100}), 1, id="too many events"),
    ],
)
def test_what_lives_is_compared_with_what_lived(after: Living, complaints: int) -> None:
    assert len(list(living_complaints(Living({"run": 2}, 100_000, {}), after))) == complaints


def test_established_connections_are_told_by_their_port() -> None:
    table = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:8EA4 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 20 4 30\n"
        "   1: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0\n"
    )
    assert list(established(table)) == [(4711, 8080)]
