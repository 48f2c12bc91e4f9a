"""String formats that the API server checks in custom resources; any other word is not checked."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from manta_common.gotext import GoError, parse_duration
from manta_common.validation.syntax import dns1123_label, dns1123_subdomain

_DATE_TIME: Final = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)"
    r"([.,][0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
)
_DATE: Final = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
_MAC: Final = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{4}(\.[0-9A-Fa-f]{4}){2}")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")
_LABEL: Final = "[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?"
_HOSTNAME: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_EMAIL: Final = re.compile(r"([^<>@]*<)?[^@\s<>]+@[^@\s<>]+>?")


def _is_duration(text: str) -> bool:
    try:
        parse_duration(text)
    except GoError:
        return False
    return True


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return "/" in text


def _is_address(version: int) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return fits


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return True


def _is_uri(text: str) -> bool:
    return text.startswith("/") or bool(urlsplit(text).scheme)


def _like(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "byte": _is_base64,
    "cidr": _is_network,
    "date": _like(_DATE),
    "date-time": _like(_DATE_TIME),
    "datetime": _like(_DATE_TIME),
    "duration": _is_duration,
    "email": _like(_EMAIL),
    "hostname": _like(_HOSTNAME),
    "ipv4": _is_address(4),
    "ipv6": _is_address(6),
    "k8s-long-name": lambda text: not dns1123_subdomain(text),
    "k8s-short-name": lambda text: not dns1123_label(text),
    "mac": _like(_MAC),
    "uri": _is_uri,
    "uuid": _like(_UUID),
}
