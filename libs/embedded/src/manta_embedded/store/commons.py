"""Parts that many objects have alike, kept once: the pods of a group differ in little more than their names."""

from typing import Any

import msgspec

from manta_embedded.store.objects import Obj

CAPACITY = 1024
CONTAINERS = ("containers", "initContainers")


class Commons:
    """Finds equal parts among those that were seen lately. Objects are never changed, so that sharing is safe."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._known: dict[bytes, Any] = {}

    def pod(self, obj: Obj) -> Obj:
        """A pod that has its parts in common with others of its kind."""
        spec = dict(obj["spec"])
        for name in CONTAINERS:
            if name in spec:
                spec[name] = [self._parts(container) for container in spec[name]]
        return {**obj, "spec": self._parts(spec, CONTAINERS)}

    def share(self, value: Any) -> Any:
        """The same value, as it was seen first."""
        if not value or not isinstance(value, dict | list):
            return value
        key = msgspec.json.encode(value)
        found = self._known.pop(key, value)
        self._known[key] = found  # the newest is the last
        if len(self._known) > self._capacity:
            self._known.pop(next(iter(self._known)))
        return found

    def _parts(self, obj: Obj, left_out: tuple[str, ...] = ()) -> Obj:
        return {name: value if name in left_out else self.share(value) for name, value in obj.items()}
