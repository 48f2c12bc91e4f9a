"""Times as tables tell them: how long ago, in the two greatest units that matter."""

from datetime import datetime

UNKNOWN = "<unknown>"


def age(text: str | None, now: datetime) -> str:
    """How long ago a moment was."""
    if not text:
        return UNKNOWN
    moment = moment_of(text)
    return "<invalid>" if moment is None else told((now - moment).total_seconds())


def moment_of(text: str) -> datetime | None:
    """The moment that an object names; None when it is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def told(duration: float) -> str:
    """A duration; small ones to the second."""
    seconds = int(duration)
    if seconds < -1:
        return "<invalid>"
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    for limit, value, unit, rest, part in (
        (10 * 60, minutes, "m", seconds % 60, "s"),
        (3 * 3600, minutes, "m", 0, ""),
        (8 * 3600, hours, "h", minutes % 60, "m"),
        (48 * 3600, hours, "h", 0, ""),
        (8 * 86400, days, "d", hours % 24, "h"),
        (2 * 365 * 86400, days, "d", 0, ""),
        (8 * 365 * 86400, days // 365, "y", days % 365, "d"),
    ):
        if seconds < limit:
            return f"{value}{unit}{rest}{part}" if rest else f"{value}{unit}"
    return f"{days // 365}y"
