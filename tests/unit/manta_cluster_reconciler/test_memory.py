"""What is remembered between passes counts only for the cluster as it was, and holds no secret."""

from datetime import timedelta

from manta_cluster_reconciler.memory import FRESH_SECONDS, Memories, Remembered
from manta_cluster_reconciler.observed import Setback
from manta_common.kinds import NETWORKPOLICY, ROLE, SECRET
from tests.unit.manta_cluster_reconciler.scenes import NOW, cluster

OF = cluster()


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0


def memories(time: Time) -> Memories[str]:
    return Memories(lambda: time.now)


def test_what_was_fetched_counts_until_the_cluster_changes_or_it_is_long_ago() -> None:
    known = memories(Time()).of("a", OF)
    assert not known.is_current(OF, 0)
    known.begin(OF, 0)
    assert known.is_current(OF, FRESH_SECONDS - 1)
    assert not known.is_current(OF, FRESH_SECONDS)
    assert not known.is_current(cluster(generation=2), 1)
    known.doubt()
    assert not known.is_current(OF, 1)


def test_a_cluster_of_the_same_name_is_another_one() -> None:
    found = memories(Time())
    found.of("a", OF).take("name")
    assert found.of("a", OF).memory().taken == {"name"}
    assert found.of("a", cluster(uid="u-2")).memory().taken == frozenset()
    found.forget("a")
    assert len(found) == 0


def test_clusters_that_went_to_another_replica_are_forgotten() -> None:
    found = memories(Time())
    for name in "ab":
        found.of(name, OF)
    found.lose(lambda key: key == "a")
    assert len(found) == 1


def test_what_is_made_or_deleted_is_known_without_asking() -> None:
    known = memories(Time()).of("a", OF)
    known.remember(ROLE, {"metadata": {"name": "r"}})
    known.remember(NETWORKPOLICY, {"metadata": {"name": "n"}})
    fetched = known.fetched()
    assert fetched.get(ROLE, "r") == {"metadata": {"name": "r"}}
    assert [policy["metadata"]["name"] for policy in fetched.policies] == ["n"]
    known.drop(ROLE, "r")
    known.drop(NETWORKPOLICY, "n")
    assert known.fetched().get(ROLE, "r") is None
    assert known.fetched().policies == ()


def test_of_a_secret_only_the_keys_are_kept() -> None:
    known = memories(Time()).of("a", OF)
    known.remember(SECRET, {"metadata": {"name": "s"}, "data": {"auth_token": "aHVudGVyMg=="}})
    assert known.fetched().get(SECRET, "s") == {"metadata": {"name": "s"}, "data": {"auth_token": ""}}


def test_what_was_fetched_is_news_until_a_pass_was_through_with_it() -> None:
    known = memories(Time()).of("a", OF)
    known.begin(OF, 0)
    assert [known.fetched().fresh for _ in range(2)] == [True, True]
    known.looked()
    assert not known.fetched().fresh


def test_setbacks_are_counted_until_there_was_calm() -> None:
    known = memories(Time()).of("a", OF)
    for minutes in (0, 1, 30):
        known.set_back("slot", NOW + timedelta(minutes=minutes))
        if minutes == 1:
            assert known.memory().setbacks["slot"].count == 2
    assert known.memory().setbacks["slot"] == Setback(1, NOW + timedelta(minutes=30))


def test_a_cluster_that_was_looked_at_rests_unless_it_changes() -> None:
    known = memories(Time()).of("a", OF)
    assert known.rest_seconds(OF, 0) == 0
    known.rest(OF, until=2)
    assert known.rest_seconds(OF, 0.5) == 1.5
    assert known.rest_seconds(OF, 3) == 0
    assert known.rest_seconds(cluster(), 0.5) == 0


def test_a_verdict_counts_for_the_very_state_that_it_was_given_on() -> None:
    known, asked = memories(Time()).of("a", OF), list[str]()

    def judge(verdict: str) -> str:
        asked.append(verdict)
        return verdict

    assert known.judged(OF, lambda: judge("first")) == "first"
    assert known.judged(OF, lambda: judge("again")) == "first"
    assert known.judged(cluster(), lambda: judge("another state")) == "another state"
    assert asked == ["first", "another state"]


def test_children_that_go_are_missed_until_somebody_has_found_out_why() -> None:
    known = memories(Time()).of("a", OF)
    known.saw(frozenset({"u-1", "u-2"}))
    assert not known.has_lost()
    known.saw(frozenset({"u-2", "u-3"}))
    known.saw(frozenset({"u-2", "u-3"}))
    assert known.has_lost()
    known.reassured()
    known.saw(frozenset({"u-2", "u-3", "u-4"}))
    assert not known.has_lost()


def test_a_service_that_is_gone_makes_everything_be_asked_for_again() -> None:
    of = cluster()
    known = Remembered(of)
    known.begin(of, 0)
    for uids in ({"a"}, {"a", "b"}):
        known.saw_services(frozenset(uids))
        assert known.is_current(of, 1)
    known.saw_services(frozenset({"b", "c"}))
    assert not known.is_current(of, 1)


def test_clusters_that_are_gone_or_somebody_elses_do_not_count_as_unsettled() -> None:
    known = memories(Time())
    known.of("a", OF)
    known.of("b", OF)
    known.unsettled |= {"a", "b", "c"}
    known.forget("a")
    known.lose(lambda key: key == "b")
    assert known.unsettled == {"c"}
