"""Durations, addresses and secrets, as people write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manta_common.settings.values import Address, Secret, duration, duration_text, without_credentials


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("30s", 30, id="seconds"),
        pytest.param("500ms", 0.5, id="milliseconds are not minutes"),
        pytest.param("1h30m", 5400, id="several units"),
        pytest.param("1.5h", 5400, id="a fraction"),
        pytest.param("2d", 172800, id="days"),
        pytest.param("45", 45, id="a plain number is seconds"),
        pytest.param("0", 0, id="nothing"),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "s", "-5s", "5 s", "5x", "5m later", "1e3s", "five", "٣s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        duration(text)


@given(st.integers(min_value=0, max_value=10**10))
def test_a_duration_is_written_as_it_is_read(milliseconds: int) -> None:
    span = timedelta(milliseconds=milliseconds)
    assert duration(duration_text(span)) == span


@pytest.mark.parametrize(
    ("text", "address"),
    [
        pytest.param(":8080", Address("", 8080), id="every interface"),
        pytest.param("127.0.0.1:0", Address("127.0.0.1", 0), id="any port"),
        pytest.param("localhost:65535", Address("localhost", 65535), id="a name"),
        pytest.param("[::1]:80", Address("::1", 80), id="version six"),
    ],
)
def test_an_address_is_read_and_written(text: str, address: Address) -> None:
    assert Address.parse(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["", "8080", "host", "host:", "host:70000", "::1:80", "http://host:80", "a b:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        Address.parse(text)


def test_a_secret_shows_itself_only_when_asked() -> None:
    secret = Secret("hunter2")
    assert "hunter2" not in f"{secret} {secret!r} {[secret]}"
    assert secret.reveal() == "hunter2"
    assert secret == Secret.parse("hunter2")
    assert {secret: 1}[Secret("hunter2")] == 1
    assert secret
    assert not Secret()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("nats://user:pass@host:4222", "nats://***@host:4222", id="user and password"),
        pytest.param("nats://token@host", "nats://***@host", id="a token"),
        pytest.param("nats://u:p/a@s@host", "nats://***@host", id="a password that should have been escaped"),
        pytest.param("http://host/a and me@b", "http://host/a and me@b", id="an at sign elsewhere"),
        pytest.param("a,nats://u:p@b,tls://u:p@c", "a,nats://***@b,tls://***@c", id="several"),
    ],
)
def test_credentials_are_taken_out_of_urls(text: str, shown: str) -> None:
    assert without_credentials(text) == shown
