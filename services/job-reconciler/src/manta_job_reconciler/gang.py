"""Volcano's PodGroup of a job, which no feed shows."""

from collections.abc import Mapping
from typing import Any

from manta_common.errors import NotFound
from manta_common.keys import Key
from manta_common.kinds import VOLCANO_PODGROUP
from manta_common.kube.protocol import MergePatch
from manta_common.plane import Item
from manta_common.ray.schedulers import volcano
from manta_common.writes import Writes


async def fit_pod_group(writes: Writes, item: Item, wanted: Mapping[str, Any], *, missing_is_fine: bool) -> bool:
    """Make the PodGroup, or bring the one that is there to its size; whether anything was changed."""
    key = Key(item.key.namespace, wanted["metadata"]["name"])
    try:
        found = await writes.kube.get(VOLCANO_PODGROUP, key, dict)
    except NotFound:
        if missing_is_fine:
            return False
        await writes.create_object(item, VOLCANO_PODGROUP, wanted)
        return True
    changes = volcano.changes(wanted, found)
    if changes:
        await writes.patch_object(item, VOLCANO_PODGROUP, key, patch=MergePatch(changes))
    return bool(changes)
