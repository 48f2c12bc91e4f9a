"""How long to wait before the next try: longer each time, and never the same for two who failed together."""

MOST_DOUBLINGS = 40


def delay_seconds(failures: int, *, shortest: float, longest: float, chance: float) -> float:
    """The shortest, doubled by each failure before, the longest at most; chance (0 to 1) cuts up to a third of it."""
    return min(longest, shortest * 2.0 ** min(failures, MOST_DOUBLINGS)) * (1 - chance / 3)
