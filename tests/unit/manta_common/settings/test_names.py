"""Which variables are settings, and whose."""

import pytest

from manta_common.config import Config
from manta_common.settings.fields import fields
from manta_common.settings.names import SERVICES, is_foreign, nearest, section, variable


@pytest.mark.parametrize(
    ("name", "value", "foreign"),
    [
        pytest.param("MANTA_TEST_NATS", "x", True, id="a variable of the tests"),
        pytest.param("MANTA_CACHE", "x", True, id="the cache of the tests"),
        pytest.param("MANTA_PARITY_INSIDE", "x", True, id="the parity runs"),
        pytest.param("MANTA_JANITOR_ANYTHING", "x", True, id="a setting of another service is its to check"),
        pytest.param("MANTA_WATCHER_ANYTHING", "x", False, id="a setting of this service"),
        pytest.param("MANTA_NATS_SERVICE_HOST", "10.0.0.1", True, id="kubernetes tells of a service's address"),
        pytest.param("MANTA_WATCHER_SERVICE_PORT_HTTP", "8080", True, id="kubernetes tells of a service's port"),
        pytest.param("MANTA_WATCHER_PORT_8080_TCP_ADDR", "10.0.0.1", True, id="kubernetes in the old way"),
        pytest.param("MANTA_WATCHER_PORT", "tcp://10.0.0.1:8080", True, id="kubernetes tells of a service's url"),
        pytest.param("MANTA_WATCHER_PORT", "8080", False, id="a port that nobody linked"),
        pytest.param("MANTA_CACHED", "x", False, id="almost a variable of the tests"),
    ],
)
def test_variables_that_are_no_settings_are_left_alone(name: str, value: str, foreign: bool) -> None:
    assert is_foreign(name, value, "watcher") is foreign


def test_no_setting_can_be_taken_for_something_else() -> None:
    for field in fields(Config):
        assert not is_foreign(variable(field.name), "", "")


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_its_own_names(service: str) -> None:
    assert variable("log_level", service) == f"MANTA_{service.upper().replace('-', '_')}_LOG_LEVEL"
    assert section(service).replace("R", "-r").replace("G", "-g") == service


def test_the_nearest_name_is_named_if_there_is_one() -> None:
    assert nearest("MANTA_LOGLEVEL", ["MANTA_LOG_LEVEL", "MANTA_LOG_FORMAT"]) == "did you mean MANTA_LOG_LEVEL?"
    assert nearest("MANTA_XYZ", ["MANTA_PARTITIONS"]) == "see --help for those there are"
