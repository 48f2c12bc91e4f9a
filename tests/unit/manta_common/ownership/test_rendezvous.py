"""Rendezvous hashing: everyone agrees, everyone gets a share, and few things move."""

import pytest

from manta_common.ownership.rendezvous import winner, won

MEMBERS = [f"member-{number}" for number in range(10)]
PARTITIONS = 3200


def test_nobody_wins_when_nobody_is_there() -> None:
    assert winner(0, []) is None


def test_one_member_wins_everything() -> None:
    assert won("a", 32, ["a"]) == set(range(32))


def test_the_order_of_members_does_not_matter() -> None:
    assert [winner(p, MEMBERS) for p in range(32)] == [winner(p, MEMBERS[::-1]) for p in range(32)]


def test_known_winners_stay_the_same() -> None:
    assert [winner(partition, ["a", "b", "c"]) for partition in range(8)] == ["b", "b", "b", "b", "b", "a", "b", "a"]


@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_everyone_gets_about_the_same(count: int) -> None:
    members = MEMBERS[:count]
    shares = [len(won(member, PARTITIONS, members)) for member in members]
    assert sum(shares) == PARTITIONS
    assert max(shares) < 1.2 * PARTITIONS / count
    assert min(shares) > 0.8 * PARTITIONS / count


@pytest.mark.parametrize("count", [1, 2, 4, 9])
def test_a_new_member_takes_its_share_and_nothing_else_moves(count: int) -> None:
    before, after = MEMBERS[:count], MEMBERS[: count + 1]
    moved = [p for p in range(PARTITIONS) if winner(p, before) != winner(p, after)]
    assert {winner(p, after) for p in moved} == {MEMBERS[count]}
    assert len(moved) == pytest.approx(PARTITIONS / (count + 1), rel=0.2)


def test_only_the_share_of_a_lost_member_moves() -> None:
    after = MEMBERS[1:]
    moved = {p for p in range(PARTITIONS) if winner(p, MEMBERS) != winner(p, after)}
    assert moved == won(MEMBERS[0], PARTITIONS, MEMBERS)
