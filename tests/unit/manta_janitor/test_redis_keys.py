"""Where a cluster's Redis is."""

import pytest

from manta_common.errors import Refused
from manta_janitor.redis_keys import RedisPlace, parse_address


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("redis:6380", RedisPlace(host="redis", port=6380), id="host and port"),
        pytest.param("redis", RedisPlace(host="redis"), id="the usual port"),
        pytest.param("a:1,b:2", RedisPlace(host="a", port=1), id="the first of several"),
        pytest.param("redis://a:1", RedisPlace(host="a", port=1), id="a scheme"),
        pytest.param("rediss://a:1", RedisPlace(host="a", port=1, tls=True), id="TLS"),
        pytest.param("redis://u:p%40ss@a:1", RedisPlace(host="a", port=1, username="u", password="p@ss"), id="user"),
        pytest.param("[::1]:7", RedisPlace(host="::1", port=7), id="an IPv6 address"),
    ],
)
def test_address(given: str, expected: RedisPlace) -> None:
    assert parse_address(given) == expected


@pytest.mark.parametrize("given", ["", "redis://", ":6379", "a:port"])
def test_an_address_without_a_host_is_told(given: str) -> None:
    with pytest.raises(Refused, match="RAY_REDIS_ADDRESS names no host"):
        parse_address(given)
