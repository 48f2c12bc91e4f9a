"""The configuration of streams: what differs is changed, what else is there is kept."""

import pytest

from manta_common.bus.jetstream import own_headers, parsed_headers
from manta_common.bus.settings import redacted
from manta_common.bus.stream import VERSION, differs, is_newer, merged, wanted_streams

STATE = wanted_streams()[0]


def test_the_streams_that_must_be_there() -> None:
    assert {config["name"]: config["subjects"] for config in wanted_streams()} == {
        "MANTA_STATE": ["manta.v1.state.>"],
        "KV_manta_members": ["$KV.manta_members.>"],
        "KV_manta_shards": ["$KV.manta_shards.>"],
    }


def test_every_stream_keeps_the_last_word_and_lets_messages_expire_without_markers() -> None:
    for config in wanted_streams():
        assert config["max_msgs_per_subject"] == 1
        assert config["allow_msg_ttl"]
        assert "subject_delete_marker_ttl" not in config


def test_a_stream_as_wanted_does_not_differ() -> None:
    assert not differs({**STATE, "max_age": 0, "metadata": {**STATE["metadata"], "_nats.ver": "2.15.1"}}, STATE)


@pytest.mark.parametrize(
    "change",
    [{"max_msgs_per_subject": -1}, {"allow_msg_ttl": False}, {"num_replicas": 1}, {"metadata": {}}, {"subjects": []}],
    ids=str,
)
def test_a_difference_is_seen(change: dict[str, object]) -> None:
    assert differs({**STATE, "num_replicas": 3, **change}, {**STATE, "num_replicas": 3})


def test_what_is_not_ours_is_kept() -> None:
    found = {**STATE, "description": "ours", "max_msgs_per_subject": 5, "metadata": {"team": "ml"}}
    whole = merged(found, STATE)
    assert whole["description"] == "ours"
    assert whole["max_msgs_per_subject"] == 1
    assert whole["metadata"] == {"team": "ml", **STATE["metadata"]}


@pytest.mark.parametrize(
    ("version", "newer"),
    [(str(VERSION), False), (str(VERSION + 1), True), ("", False), ("nonsense", False)],
    ids=["ours", "newer", "none", "nonsense"],
)
def test_a_stream_of_a_newer_manta_is_known(version: str, newer: bool) -> None:
    assert is_newer({"metadata": {"manta.version": version}}) == newer


def test_stored_headers_are_read() -> None:
    raw = "NATS/1.0\r\ntraceparent: 00-1\r\nNats-TTL: 6s\r\nName: Zoë: yes\r\n\r\n".encode()
    assert own_headers(parsed_headers(raw)) == {"traceparent": "00-1", "Name": "Zoë: yes"}
    assert parsed_headers(b"") == {}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("nats://user:sesame@nats:4222", "nats://nats:4222"),
        ("tls://token@nats:4222", "tls://nats:4222"),
        ("nats:4222", "nats://nats:4222"),
        ("user:p@ss@nats:4222", "nats://nats:4222"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert redacted(url) == shown
