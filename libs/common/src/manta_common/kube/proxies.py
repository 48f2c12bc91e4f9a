"""Which proxy leads to a server, by the environment and with the rules of Go, which kubectl and KubeRay follow."""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from manta_common.errors import Misconfigured

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
PORTS = {"http": 80, "https": 443}


def proxy_for(server: str, environment: Mapping[str, str]) -> str:
    """The URL of the proxy to this server, or nothing when it is reached directly.

    NO_PROXY may hold addresses, networks (10.0.0.0/8), names (which cover what is below them), ports, and `*`.
    """
    url = urlsplit(server)
    host, port = (url.hostname or "").rstrip("."), url.port or PORTS.get(url.scheme, 0)
    proxy = _variable(environment, f"{url.scheme}_proxy")
    if not proxy or _is_local(host) or _is_exempt(host, port, _variable(environment, "no_proxy")):
        return ""
    return checked_proxy(proxy)


def checked_proxy(proxy: str) -> str:
    """A proxy's URL as we can use it; Misconfigured when we cannot."""
    url = proxy if "://" in proxy else f"http://{proxy}"
    if urlsplit(url).scheme not in PORTS or not urlsplit(url).hostname:
        raise Misconfigured("the proxy of the API server must be an http:// or https:// URL")  # it may hold a password
    return url


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper()) or environment.get(name) or ""


def _is_local(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _is_exempt(host: str, port: int, rules: str) -> bool:
    return any(_matches(host, port, rule.strip().lower()) for rule in rules.split(",") if rule.strip())


def _matches(host: str, port: int, rule: str) -> bool:
    if rule == "*":
        return True
    address = _address(host)
    if "/" in rule:
        return address is not None and _in_network(address, rule)
    name, rule_port = _split_port(rule)
    if rule_port and rule_port != port:
        return False
    if address is not None:
        return address == _address(name)
    name = name.removeprefix("*")
    return host == name or host.endswith(name if name.startswith(".") else f".{name}")


def _in_network(address: Address, rule: str) -> bool:
    try:
        return address in ipaddress.ip_network(rule, strict=False)
    except ValueError:
        return False


def _split_port(rule: str) -> tuple[str, int]:
    name, _, port = rule.rpartition(":")
    if name and port.isdigit() and (":" not in name or name.endswith("]")):
        return name.strip("[]"), int(port)
    return rule.strip("[]"), 0


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
