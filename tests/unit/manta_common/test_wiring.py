"""Settings reach the connections that they are about."""

from pathlib import Path

import pytest

from manta_common.config import Config, load
from manta_common.errors import Misconfigured
from manta_common.wiring import bus_settings, kube_settings


@pytest.mark.parametrize(
    ("written", "replicas"),
    [
        pytest.param("", None, id="by default streams stay as they are"),
        pytest.param("keep", None, id="the same by its name"),
        pytest.param("1", 1, id="one server"),
        pytest.param("3", 3, id="three servers"),
        pytest.param("5", 5, id="five servers"),
    ],
)
def test_replicas_of_the_streams_can_be_set(written: str, replicas: int | None) -> None:
    assert bus_settings(load(Config, {"MANTA_NATS_REPLICAS": written}), "toy").replicas == replicas


@pytest.mark.parametrize("number", ["2", "4", "7", "0", "many"])
def test_other_numbers_of_replicas_are_refused(number: str) -> None:
    with pytest.raises(Misconfigured) as raised:
        load(Config, {"MANTA_NATS_REPLICAS": number})
    expected = "expected 1, 3 or 5 (of an even number, half cannot decide), or keep"
    assert str(raised.value) == f"MANTA_NATS_REPLICAS is '{number}'; {expected}"


def test_nats_is_reached_as_the_settings_say() -> None:
    config = Config(nats_urls=("nats://a", "nats://b"), nats_credentials_file="/creds", nats_ca_file="/ca")
    settings = bus_settings(config, "toy")
    assert settings.urls == ("nats://a", "nats://b")
    assert (settings.name, settings.credentials_file, settings.ca_file) == ("manta-toy", Path("/creds"), Path("/ca"))
    assert bus_settings(Config(), "toy").credentials_file is None


def test_the_api_server_is_reached_as_the_settings_say() -> None:
    settings = kube_settings(Config(kube_qps=7, kube_burst=9), "toy")
    assert (settings.service, settings.qps, settings.burst) == ("toy", 7, 9)
