"""Times as they stand in objects: RFC 3339 in UTC, to the second."""

from datetime import UTC, datetime

FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def text_of(moment: datetime) -> str:
    """A time as objects have it."""
    return moment.strftime(FORMAT)


def parsed(text: str) -> datetime:
    """A time that an object has."""
    return datetime.strptime(text, FORMAT).replace(tzinfo=UTC)
