"""Who writes, as far as the store must know."""

import msgspec


class Writer(msgspec.Struct, frozen=True):
    """The name under which fields are held (`fieldManager`)."""

    manager: str = "unknown"


UNKNOWN = Writer()
