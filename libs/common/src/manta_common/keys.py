"""What a service works on: a namespace and a name."""

import msgspec


class Key(msgspec.Struct, frozen=True, order=True):
    """A namespace and a name; the namespace is empty for cluster-wide objects."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
