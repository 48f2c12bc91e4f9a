"""The gateway's settings."""

import pytest

from manta_common.config import load
from manta_common.errors import Misconfigured
from manta_dashboard_gateway.config import Config

PREFIX = "MANTA_DASHBOARD_GATEWAY_"


def test_the_defaults_are_those_of_the_design() -> None:
    config = load(Config, {})
    assert (config.pace.usual_seconds, config.pace.new_seconds, config.pace.longest_seconds) == (3, 0.5, 30)
    assert (config.limits.one_seconds, config.limits.list_seconds) == (5, 15)
    assert (config.ways.reach, config.ways.domain, config.ways.tls) == ("service", "cluster.local", False)


@pytest.mark.parametrize("reach", ["service", "pod", "proxy", "127.0.0.1:8265", "[::1]:8265", "dashboards:80"])
def test_a_way_to_reach_dashboards(reach: str) -> None:
    assert load(Config, {f"{PREFIX}REACH": reach}).ways.reach == reach


@pytest.mark.parametrize("reach", ["services", "127.0.0.1", ":8265", "host:0", "http://host:80"])
def test_no_way_to_reach_dashboards(reach: str) -> None:
    with pytest.raises(Misconfigured, match=f"{PREFIX}REACH"):
        load(Config, {f"{PREFIX}REACH": reach})


def test_a_domain_must_be_one() -> None:
    with pytest.raises(Misconfigured, match="MANTA_CLUSTER_DOMAIN"):
        load(Config, {f"{PREFIX}CLUSTER_DOMAIN": "cluster.local/../x"})


@pytest.mark.parametrize(("gates", "tls"), [("RayClusterMTLS=true", True), ("", False)])
def test_tls_needs_its_gate(gates: str, tls: bool) -> None:
    environment = {f"{PREFIX}TLS": "true", "MANTA_FEATURE_GATES": gates}
    assert load(Config, environment).ways.tls is tls
