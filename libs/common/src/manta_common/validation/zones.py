"""Whether a name is a time zone of the IANA database."""

import zoneinfo


def zone_fault(name: str) -> str | None:
    """Return what Go would say of a name that is no time zone."""
    if name in {"UTC", "Local"}:
        return None
    if ".." in name or name.startswith(("/", "\\")):
        return "time: invalid location name"
    try:
        zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # An unknown name is a KeyError, an impossible one a ValueError, a folder such as America an OSError.
        return f"unknown time zone {name}"
    return None
