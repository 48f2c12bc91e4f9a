"""Kubernetes' own rules for names, labels and quantities; each check returns what is wrong, in Kubernetes' words."""

import re
from typing import Final

from manta_common.api.wire import QUANTITY_PATTERN

MAX_LABEL: Final = 63
MAX_SUBDOMAIN: Final = 253

DNS1035_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
DNS1123_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS1123_SUBDOMAIN: Final = rf"{DNS1123_LABEL}(\.{DNS1123_LABEL})*"
NAME_PART: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
LABEL_VALUE: Final = f"({NAME_PART})?"

NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
    f" (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{NAME_PART}')"
)
DNS1035_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
    f" (e.g. 'my-name',  or 'abc-123', regex used for validation is '{DNS1035_LABEL}')"
)
DNS1123_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
    f" (e.g. 'my-name',  or '123-abc', regex used for validation is '{DNS1123_LABEL}')"
)
DNS1123_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
    f" (e.g. 'example.com', regex used for validation is '{DNS1123_SUBDOMAIN}')"
)
LABEL_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
    f" (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{LABEL_VALUE}')"
)
QUALIFIED_NAME_RULE: Final = (
    f"a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)


def dns1035_label(text: str) -> list[str]:
    """Return what keeps a text from being a DNS-1035 label."""
    return _too_long(text, MAX_LABEL, unit="characters") + _unlike(text, DNS1035_LABEL, DNS1035_RULE)


def dns1123_label(text: str) -> list[str]:
    """Return what keeps a text from being a DNS-1123 label."""
    rule = "must not contain dots" if not _unlike(text, DNS1123_SUBDOMAIN, "") else DNS1123_LABEL_RULE
    return _too_long(text, MAX_LABEL, unit="characters") + _unlike(text, DNS1123_LABEL, rule)


def dns1123_subdomain(text: str) -> list[str]:
    """Return what keeps a text from being a DNS-1123 subdomain."""
    return _too_long(text, MAX_SUBDOMAIN) + _unlike(text, DNS1123_SUBDOMAIN, DNS1123_SUBDOMAIN_RULE)


def qualified_name(text: str) -> list[str]:
    """Return what keeps a text from being a label key."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [QUALIFIED_NAME_RULE]
    faults = [f"prefix part {fault}" for fault in _prefix_faults(prefix)] if slash else []
    length = _too_long(name, MAX_LABEL) if name else ["must be non-empty"]
    return faults + [f"name part {fault}" for fault in length + _unlike(name, NAME_PART, NAME_RULE)]


def label_value(text: str) -> list[str]:
    """Return what keeps a text from being a label value."""
    return _too_long(text, MAX_LABEL) + _unlike(text, LABEL_VALUE, LABEL_VALUE_RULE)


def is_quantity(value: str | int) -> bool:
    """Tell whether a value is a Kubernetes quantity such as 500m, 1.5Gi or 2."""
    return isinstance(value, int) or re.search(QUANTITY_PATTERN, value) is not None


def as_go_list(faults: list[str]) -> str:
    """Return several faults as Go prints a list of strings."""
    return f"[{' '.join(faults)}]"


def _prefix_faults(prefix: str) -> list[str]:
    return dns1123_subdomain(prefix) if prefix else ["must be non-empty"]


def _too_long(text: str, length: int, *, unit: str = "bytes") -> list[str]:
    # Bytes are counted in both cases, but Kubernetes' messages for DNS labels speak of characters.
    return [f"must be no more than {length} {unit}"] if len(text.encode()) > length else []


def _unlike(text: str, pattern: str, rule: str) -> list[str]:
    return [] if re.fullmatch(pattern, text) else [rule]
