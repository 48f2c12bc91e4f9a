"""Secrets do not reach what is written down."""

import pytest

from manta_common.config import Secret
from manta_common.keys import Key
from manta_common.telemetry.redact import is_secret, redacted, redacted_text


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        pytest.param("token", True, id="a token"),
        pytest.param("auth_token", True, id="with a word before"),
        pytest.param("natsPassword", True, id="in camel case"),
        pytest.param("X-Ray-Authorization", True, id="a header"),
        pytest.param("CLIENT_SECRET", True, id="in capitals"),
        pytest.param("secret_name", False, id="the name of a secret"),
        pytest.param("tokens_left", False, id="how many tokens"),
        pytest.param("key", False, id="a namespace and a name"),
        pytest.param("", False, id="nothing"),
        pytest.param("tokenizer", False, id="another word"),
    ],
)
def test_the_last_word_of_a_key_tells_a_secret(key: str, secret: bool) -> None:
    assert is_secret(key) is secret


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param({"token": "hunter2", "a": 1}, {"token": "***", "a": 1}, id="a mapping"),
        pytest.param({"a": [{"password": "hunter2"}]}, {"a": [{"password": "***"}]}, id="deep inside"),
        pytest.param(Key("a", "b"), "a/b", id="a key"),
        pytest.param(Secret("hunter2"), "***", id="a secret by type"),
        pytest.param((1, 2.5, None, True), [1, 2.5, None, True], id="plain values"),
        pytest.param({1: "a"}, {"1": "a"}, id="keys become text"),
        pytest.param("\ud800", "\\ud800", id="half a character"),
    ],
)
def test_a_value_is_written_plainly(value: object, written: object) -> None:
    assert redacted(value) == written


def test_an_endless_value_is_cut() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert "[[...]]" in str(redacted(endless))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("Authorization: Bearer abc.def-1", "Authorization: Bearer ***", id="a bearer token"),
        pytest.param("basic dXNlcjpwYXNz", "basic ***", id="basic authentication"),
        pytest.param("to nats://me:pass@host", "to nats://***@host", id="a url"),
        pytest.param("the bearer of news", "the bearer of news", id="plain english"),
    ],
)
def test_a_text_loses_what_looks_like_a_secret(text: str, written: str) -> None:
    assert redacted_text(text) == written
