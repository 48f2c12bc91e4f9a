"""Partitions never change by accident, and objects spread evenly over them."""

from collections import Counter

import pytest

from manta_common.keys import Key
from manta_common.partitions import PARTITIONS, partition_of


@pytest.mark.parametrize(
    ("root", "partition"),
    [
        pytest.param(Key("default", "raycluster-sample"), 0, id="an ordinary name"),
        pytest.param(Key("team-a", "train.v2"), 20, id="a dot in the name"),
        pytest.param(Key("", "cluster-wide"), 15, id="no namespace"),
        pytest.param(Key("a", "b"), 0, id="short"),
        pytest.param(Key("x" * 63, "y" * 253), 16, id="as long as can be"),
    ],
)
def test_a_root_is_always_in_the_same_partition(root: Key, partition: int) -> None:
    assert partition_of(root) == partition


def test_there_are_32_partitions() -> None:
    assert PARTITIONS == 32


def test_namespace_and_name_are_not_just_joined() -> None:
    keys = [Key("a", "b-c"), Key("a-b", "c"), Key("", "a/b-c"), Key("a", "b.c")]
    assert len({partition_of(key, 2**32) for key in keys}) == len(keys)


@pytest.mark.parametrize("partitions", [1, 2, 32, 100])
def test_roots_spread_evenly(partitions: int) -> None:
    total = 400 * partitions
    counted = Counter(partition_of(Key(f"team-{n % 7}", f"job-{n}"), partitions) for n in range(total))
    assert set(counted) == set(range(partitions))
    assert max(counted.values()) < 1.25 * 400
    assert min(counted.values()) > 0.75 * 400
