"""The desk publishes what is news, once, where it belongs, and buries what is gone."""

from typing import Any

from manta_common.api.core import Pod
from manta_common.api.meta import ObjectMeta, OwnerReference
from manta_common.api.raycluster import RayCluster
from manta_common.api.rayjob import RayJob
from manta_common.bus.channel import OF_JOBS, PLAIN, Channel, Spot
from manta_common.keys import Key
from manta_common.partitions import partition_of
from manta_watcher.desk import PATIENCE_SECONDS, TOMBSTONE_SECONDS, Desk, Record, Sighting
from manta_watcher.outbox import Parcel
from manta_watcher.roots import Place

TYPES: dict[str, Any] = {"raycluster": RayCluster, "rayjob": RayJob, "pod": Pod}
CHANNELS: dict[str, Channel[Any]] = {word: Channel(word, type_) for word, type_ in TYPES.items()}
PARTITIONS = 32
CLUSTER, JOB, POD = (Place(kind, Key("n", name)) for kind, name in (("raycluster", "c"), ("rayjob", "j"), ("pod", "p")))


class Tray:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.put_down: list[tuple[str, Parcel]] = []

    def put(self, subject: str, parcel: Parcel) -> None:
        self.put_down.append((subject, parcel))


class Scene:
    """A desk, and short words for what happens."""

    def __init__(self) -> None:
        self.tray = Tray()
        self.desk = Desk(self.tray, CHANNELS, partitions=PARTITIONS)

    def see(
        self, place: Place, *, version: int = 1, uid: str = "u", of: str = "", scope: int = 1, now: float = 0
    ) -> list[Place]:
        owner = OwnerReference(api_version="ray.io/v1", kind="RayJob", name=of, uid="o", controller=True)
        metadata = ObjectMeta(
            namespace="n",
            name=place.key.name,
            uid=uid,
            resource_version=str(version),
            labels={"ray.io/cluster": "c"} if place.kind == "pod" else {},
            owner_references=(owner,) if of else (),
        )
        found = TYPES[place.kind](metadata=metadata)
        return self.desk.see(Sighting(place=place, object=found, scope=scope), now)

    def said(self) -> list[tuple[str, int, str, bool]]:
        """Kind, partition, version, and whether it is a tombstone, of what was published since last asked."""
        said = []
        for subject, parcel in self.tray.put_down:
            kind = subject.split(".")[5]
            spot, _ = CHANNELS[kind].parse(subject)
            state = CHANNELS[kind].decode(parcel.body)
            said.append((kind, spot.partition, state.version, state.object is None))
            assert parcel.ttl_seconds == (TOMBSTONE_SECONDS if state.object is None else None)
        self.tray.put_down.clear()
        return said


def home(name: str) -> int:
    return partition_of(Key("n", name), PARTITIONS)


def test_an_object_is_published_once_for_each_version() -> None:
    scene = Scene()
    scene.see(CLUSTER)
    scene.see(CLUSTER)
    scene.see(CLUSTER, version=2)
    scene.see(CLUSTER, version=1)
    assert scene.said() == [("raycluster", home("c"), "1", False), ("raycluster", home("c"), "2", False)]


def test_a_child_stands_in_the_partition_of_its_root() -> None:
    scene = Scene()
    scene.see(JOB)
    scene.see(CLUSTER, of="j")
    scene.see(POD)
    assert {partition for _, partition, _, _ in scene.said()} == {home("j")}


def test_the_family_is_that_of_everything_above() -> None:
    scene = Scene()
    scene.see(CLUSTER)
    scene.see(JOB)
    scene.see(Place("raycluster", Key("n", "of-j")), of="j")
    scene.see(POD)
    families = [subject.split(".")[4] for subject, _ in scene.tray.put_down]
    assert families == ["plain", "job", "job", "plain"]


def test_another_family_in_the_same_partition_is_told_before_the_old_one_is_buried() -> None:
    scene = Scene()
    namesake = Place("rayjob", CLUSTER.key)  # the partition is that of the name
    scene.see(namesake)
    scene.see(CLUSTER)
    scene.see(POD)
    scene.tray.put_down.clear()
    assert scene.see(CLUSTER, version=2, of="c") == [POD]
    old, new = (CHANNELS["raycluster"].subject(home("c"), CLUSTER.key, family) for family in (PLAIN, OF_JOBS))
    assert [(subject, parcel.after) for subject, parcel in scene.tray.put_down] == [(new, ""), (old, new)]
    assert [gone for *_, gone in scene.said()] == [False, True]
    scene.see(POD)
    assert [gone for *_, gone in scene.said()] == [False, True]


def test_a_child_waits_for_what_it_belongs_to_and_is_then_looked_at_again() -> None:
    scene = Scene()
    assert scene.see(POD) == []
    assert scene.said() == []
    assert scene.desk.withheld == 1
    assert scene.see(CLUSTER) == [POD]
    assert scene.see(POD) == []
    assert [kind for kind, *_ in scene.said()] == ["raycluster", "pod"]
    assert scene.desk.withheld == 0


def test_a_child_does_not_wait_for_ever() -> None:
    scene = Scene()
    scene.see(POD)
    assert scene.desk.overdue(PATIENCE_SECONDS - 1) == []
    assert scene.desk.overdue(PATIENCE_SECONDS) == [POD]
    scene.see(POD, now=PATIENCE_SECONDS)
    assert scene.said() == [("pod", home("c"), "1", False)]


def test_a_child_that_has_waited_is_gone_when_its_scope_no_longer_shows_it() -> None:
    scene = Scene()
    scene.see(POD, scope=2)
    scene.see(CLUSTER)
    scene.see(POD, scope=0)  # looked at again, by no scope
    scene.said()
    scene.desk.listed("pod", set(), version=9, scope=2)
    assert scene.said() == [("pod", home("c"), "9", True)]


def test_a_child_that_is_gone_waits_no_longer() -> None:
    scene = Scene()
    scene.see(POD)
    assert scene.desk.overdue(PATIENCE_SECONDS) == [POD]
    scene.desk.forget(POD)
    assert scene.desk.withheld == 0
    assert scene.see(CLUSTER) == []


def test_adoption_moves_an_object_and_its_children_with_a_tombstone_first() -> None:
    scene = Scene()
    scene.see(JOB)
    scene.see(CLUSTER)
    scene.see(POD)
    scene.said()
    assert scene.see(CLUSTER, version=2, of="j") == [POD]
    moved = scene.tray.put_down[-1][1]
    assert moved.after == CHANNELS["raycluster"].subject(home("c"), CLUSTER.key)
    assert scene.said() == [("raycluster", home("c"), "1", True), ("raycluster", home("j"), "2", False)]
    scene.see(POD)
    assert scene.said() == [("pod", home("c"), "1", True), ("pod", home("j"), "1", False)]


def test_a_deleted_object_gets_a_tombstone_at_the_version_of_its_end() -> None:
    scene = Scene()
    scene.see(CLUSTER)
    scene.said()
    scene.desk.vanish(CLUSTER, uid="u", version=7, scope=1)
    assert scene.said() == [("raycluster", home("c"), "7", True)]
    assert scene.desk.known == 0


def test_the_end_of_a_predecessor_does_not_bury_the_successor() -> None:
    scene = Scene()
    scene.see(CLUSTER)
    scene.see(CLUSTER, uid="v", version=5)
    scene.said()
    scene.desk.vanish(CLUSTER, uid="u", version=4, scope=1)
    assert scene.said() == []


def test_an_object_that_two_scopes_show_is_gone_when_both_say_so() -> None:
    scene = Scene()
    scene.see(CLUSTER, scope=1)
    scene.see(CLUSTER, scope=2)
    assert len(scene.said()) == 1
    scene.desk.vanish(CLUSTER, uid="u", version=3, scope=1)
    assert scene.said() == []
    scene.desk.vanish(CLUSTER, uid="u", version=4, scope=2)
    assert scene.said() == [("raycluster", home("c"), "4", True)]


def test_what_stands_in_the_stream_already_is_not_published_again() -> None:
    scene = Scene()
    scene.desk.recall(CLUSTER, Record(Spot(home("c")), "u", 3, 1))
    scene.see(CLUSTER, version=3)
    assert scene.said() == []


def test_what_vanished_while_nobody_watched_is_buried_after_the_list() -> None:
    scene = Scene()
    scene.desk.recall(CLUSTER, Record(Spot(home("c")), "u", 3, 3))
    scene.desk.listed("raycluster", set(), version=50, scope=1)
    assert scene.said() == [], "the other scope may show it"
    scene.desk.listed("raycluster", set(), version=51, scope=2)
    assert scene.said() == [("raycluster", home("c"), "51", True)]


def test_an_object_that_is_read_twice_is_not_buried() -> None:
    scene = Scene()
    for _ in range(2):
        scene.desk.recall(CLUSTER, Record(Spot(home("c")), "u", 3, 1))
    scene.see(CLUSTER, version=3)
    assert scene.said() == []


def test_an_object_found_in_two_partitions_stays_in_its_own_only() -> None:
    scene = Scene()
    elsewhere = (home("c") + 1) % PARTITIONS
    scene.desk.recall(CLUSTER, Record(Spot(home("c")), "u", 3, 1))
    scene.desk.recall(CLUSTER, Record(Spot(elsewhere), "u", 3, 1))
    scene.see(CLUSTER, version=3)
    last = {partition: gone for _, partition, _, gone in scene.said()}
    assert last == {home("c"): False, elsewhere: True}


def test_what_outlives_its_owners_stays_where_it_stands_until_there_are_others() -> None:
    scene = Scene()
    scene.see(JOB)
    scene.see(CLUSTER, of="j")
    scene.see(POD)
    for version, place in ((5, JOB), (6, CLUSTER)):
        scene.desk.vanish(place, uid="u", version=version, scope=1)
    scene.said()
    scene.see(POD, version=7)
    assert scene.said() == [("pod", home("j"), "7", False)], "owners go first; it is not moved to its end"
    assert scene.see(CLUSTER, version=8, uid="another") == [POD]
    scene.see(POD, version=7)
    assert scene.said() == [
        ("raycluster", home("c"), "8", False),
        ("pod", home("j"), "7", True),
        ("pod", home("c"), "7", False),
    ]
