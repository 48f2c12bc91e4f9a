"""The real Redis of the tests: what it answered survives its death."""

import pytest
import redis as client
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.parts.redis import Redis, answers_ping


def test_a_value_is_kept(redis: Redis) -> None:
    with client.Redis.from_url(redis.url) as connection:
        connection.set("manta-test", "kept", ex=60)
        assert connection.get("manta-test") == b"kept"


def test_a_value_survives_a_kill(own_redis: Redis) -> None:
    url = own_redis.url
    with client.Redis.from_url(url) as connection:
        connection.set("key", "before")
    own_redis.kill()
    assert not answers_ping(own_redis.address)
    own_redis.restart()
    assert own_redis.url == url
    with client.Redis.from_url(url) as connection:
        assert connection.get("key") == b"before"


def test_a_wiped_redis_is_empty(own_redis: Redis) -> None:
    with client.Redis.from_url(own_redis.url) as connection:
        connection.set("key", "before")
    own_redis.wipe()
    with client.Redis.from_url(own_redis.url) as connection:
        assert connection.dbsize() == 0


def test_a_client_without_the_password_is_refused(own_redis: Redis) -> None:
    host, port = own_redis.address
    with (
        client.Redis(host=host, port=port, retry=Retry(NoBackoff(), 0)) as connection,
        pytest.raises(client.AuthenticationError),
    ):
        connection.ping()
