"""Which Ray object an object belongs to in the end: that one's name decides the partition of all its children."""

from collections.abc import Hashable, Iterable

import msgspec

from manta_common.api.labels import CLUSTER, ENDPOINT_SLICE_SERVICE
from manta_common.api.meta import ObjectMeta
from manta_common.bus.channel import MIXED, OF_JOBS, OF_SERVE, PLAIN
from manta_common.keys import Key
from manta_common.kinds import ENDPOINTSLICE, JOB, RAYCLUSTER, RAYCRONJOB, RAYJOB, RAYSERVICE, SERVICE

PARENTS = {kind.kind: kind.name for kind in (RAYCRONJOB, RAYSERVICE, RAYJOB, RAYCLUSTER, JOB)}
CHILDREN_BY_LABEL = {"pod"}
FAMILIES = {RAYCRONJOB.name: OF_JOBS, RAYJOB.name: OF_JOBS, RAYSERVICE.name: OF_SERVE}


class Place(msgspec.Struct, frozen=True, order=True):
    """One object of one kind."""

    kind: str
    key: Key


def parent(kind: str, metadata: ObjectMeta) -> Place | None:
    """The object that this one belongs to: its owner, or the cluster or Service that its label names."""
    service = metadata.labels.get(ENDPOINT_SLICE_SERVICE)
    if kind == ENDPOINTSLICE.name and service:
        return Place(SERVICE.name, Key(metadata.namespace, service))
    cluster = metadata.labels.get(CLUSTER)
    if kind in CHILDREN_BY_LABEL and cluster:
        return Place(RAYCLUSTER.name, Key(metadata.namespace, cluster))
    owners = sorted(metadata.owner_references, key=lambda owner: not owner.controller)
    for owner in owners:
        if owner.kind in PARENTS:
            return Place(PARENTS[owner.kind], Key(metadata.namespace, owner.name))
    return None


def family_of(line: Iterable[Place]) -> str:
    """The word for what is of such a descent: an object and all above it."""
    words = {FAMILIES[place.kind] for place in line if place.kind in FAMILIES}
    return MIXED if len(words) > 1 else next(iter(words), PLAIN)


class Roots:
    """Who belongs to whom, as far as it was seen."""

    def __init__(self) -> None:
        self._parents: dict[Place, Place | None] = {}
        self._children: dict[Place, set[Place]] = {}

    def put(self, place: Place, above: Place | None) -> bool:
        """Remember an object and what it belongs to; whether that is news."""
        known = place in self._parents
        if known and self._parents[place] == above:
            return False
        self.remove(place)
        self._parents[place] = above
        if above:
            self._children.setdefault(above, set()).add(place)
        return True

    def remove(self, place: Place) -> None:
        """Forget an object; its children still name it."""
        above = self._parents.pop(place, None)
        if above:
            self._children[above].discard(place)
            if not self._children[above]:
                del self._children[above]

    def line(self, place: Place) -> list[Place]:
        """An object and all above it, seen or named, up to its root; one that belongs to itself by a circle is cut."""
        passed: dict[Place, None] = {}
        while place not in passed:
            passed[place] = None
            place = self._parents.get(place) or place
        return list(passed)

    def is_complete(self, place: Place) -> bool:
        """Whether everything above it was seen."""
        passed: set[Hashable] = set()
        above: Place | None = place
        while above and above not in passed:
            if above not in self._parents:
                return False
            passed.add(above)
            above = self._parents[above]
        return True

    def below(self, place: Place) -> list[Place]:
        """Everything that belongs to an object, directly or not, nearest first."""
        found: dict[Place, None] = {}
        waiting = [place]
        while waiting:
            for child in sorted(self._children.get(waiting.pop(0), ())):
                if child not in found:
                    found[child] = None
                    waiting.append(child)
        return list(found)
