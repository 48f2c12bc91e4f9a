"""Rendezvous hashing with fair shares: everyone agrees, everyone gets as much, and little moves."""

from collections import Counter

import pytest

from manta_common.ownership.rendezvous import owners, won

MEMBERS = [f"member-{number}" for number in range(10)]
PARTITIONS = 320


def moved(before: dict[int, str], after: dict[int, str]) -> list[int]:
    return [partition for partition, owner in before.items() if after[partition] != owner]


def test_nobody_owns_anything_when_nobody_is_there() -> None:
    assert owners(32, []) == {}


def test_one_member_owns_everything() -> None:
    assert won("a", 32, ["a"]) == set(range(32))


def test_the_order_of_members_does_not_matter() -> None:
    assert owners(32, MEMBERS) == owners(32, MEMBERS[::-1])


def test_known_owners_stay_the_same() -> None:
    assert "".join(owner for _, owner in sorted(owners(8, ["a", "b", "c"]).items())) == "acbbcaba"


@pytest.mark.parametrize("partitions", [1, 7, 32, 320])
@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_nobody_owns_more_than_a_fair_share(partitions: int, count: int) -> None:
    shares = Counter(owners(partitions, MEMBERS[:count]).values())
    assert sum(shares.values()) == partitions
    assert max(shares.values()) == -(-partitions // count)


@pytest.mark.parametrize("count", [1, 2, 4, 9])
def test_a_new_member_takes_its_share_and_little_else_moves(count: int) -> None:
    before, after = owners(PARTITIONS, MEMBERS[:count]), owners(PARTITIONS, MEMBERS[: count + 1])
    assert len(moved(before, after)) <= 1.5 * PARTITIONS / (count + 1)


def test_when_a_member_is_lost_its_share_and_little_else_moves() -> None:
    before, after = owners(PARTITIONS, MEMBERS), owners(PARTITIONS, MEMBERS[1:])
    assert won(MEMBERS[0], PARTITIONS, MEMBERS) <= set(moved(before, after))
    assert len(moved(before, after)) <= 1.5 * PARTITIONS / len(MEMBERS)
