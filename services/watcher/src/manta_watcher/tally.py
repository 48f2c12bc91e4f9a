"""What telemetry asks of a watcher."""


class Tally:
    """Counts that go on from reign to reign."""

    def __init__(self) -> None:
        self.listed = self.changes = self.unreadable = self.sessions = 0
        self.whole = False
