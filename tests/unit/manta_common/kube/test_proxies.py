"""Proxies are chosen as Go chooses them, so that what works for kubectl works for us."""

import pytest

from manta_common.errors import Misconfigured
from manta_common.kube.proxies import proxy_for

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("server", "exempt", "direct"),
    [
        pytest.param("https://10.96.0.1:443", "", False, id="no exemption"),
        pytest.param("https://10.96.0.1:443", "10.0.0.0/8", True, id="a network"),
        pytest.param("https://10.96.0.1:443", "192.168.0.0/16,10.96.0.1", True, id="an address"),
        pytest.param("https://10.96.0.1:443", "10.96.0.1:443", True, id="an address and its port"),
        pytest.param("https://10.96.0.1:6443", "10.96.0.1:443", False, id="another port"),
        pytest.param("https://10.96.0.1:443", "10.96.0.0/99", False, id="no network"),
        pytest.param("https://[fd00::1]:443", "fd00::/8", True, id="a network of IPv6"),
        pytest.param("https://[fd00::1]:443", "[fd00::1]:443", True, id="an address of IPv6 and its port"),
        pytest.param("https://api.example", "example", True, id="a name covers what is below it"),
        pytest.param("https://api.example", ".example", True, id="with a dot before"),
        pytest.param("https://api.example", "*.example", True, id="with a star before"),
        pytest.param("https://badexample", "example", False, id="but not what only ends like it"),
        pytest.param("https://example", ".example", False, id="with a dot the name itself is not covered"),
        pytest.param("https://kubernetes.default.svc", " .svc , .local", True, id="spaces do not matter"),
        pytest.param("https://api.example", "*", True, id="everything"),
        pytest.param("https://localhost:6443", "", True, id="never to this machine by name"),
        pytest.param("https://127.0.0.1:6443", "", True, id="never to this machine by address"),
    ],
)
def test_who_is_reached_directly(server: str, exempt: str, direct: bool) -> None:
    assert proxy_for(server, {"HTTPS_PROXY": PROXY, "NO_PROXY": exempt}) == ("" if direct else PROXY)


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        pytest.param({}, "", id="none set"),
        pytest.param({"https_proxy": PROXY}, PROXY, id="in small letters"),
        pytest.param({"HTTPS_PROXY": "proxy.example:3128"}, PROXY, id="without a scheme"),
        pytest.param({"HTTP_PROXY": PROXY}, "", id="the other protocol's"),
    ],
)
def test_which_variable_counts(environment: dict[str, str], proxy: str) -> None:
    assert proxy_for("https://api.example", environment) == proxy


@pytest.mark.parametrize("proxy", ["socks5://proxy.example:1080", "http://"])
def test_a_proxy_that_cannot_be_used_is_a_wrong_setting(proxy: str) -> None:
    with pytest.raises(Misconfigured, match="proxy"):
        proxy_for("https://api.example", {"HTTPS_PROXY": proxy})
