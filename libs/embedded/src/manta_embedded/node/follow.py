"""Follows all objects of a kind: lists, watches, and lists again when it has to."""

import asyncio
import contextlib
import logging
from collections.abc import Callable

from manta_common.errors import Expired, MantaError
from manta_common.keys import Key
from manta_common.kinds import Kind
from manta_common.kube.protocol import Kube
from manta_embedded.store.objects import Obj

AGAIN_SECONDS = 0.5
See = Callable[[Key, Obj | None], None]  # None: it is gone
log = logging.getLogger(__name__)


async def follow(kube: Kube, kind: Kind, see: See, filled: asyncio.Event) -> None:
    """Tell of every object, its changes and its end, until cancelled."""
    known: dict[Key, str] = {}
    version = ""
    while True:
        try:
            version = version or await _list(kube, kind, see, known=known)
            filled.set()
            version = await _watch(kube, kind, see, known=known, since=version)
        except Expired:
            version = ""
        except MantaError as error:
            log.warning("cannot follow", extra={"kind": kind.kind, "error": str(error)})
            await asyncio.sleep(AGAIN_SECONDS)


async def _list(kube: Kube, kind: Kind, see: See, *, known: dict[Key, str]) -> str:
    found = await kube.list(kind, dict)
    now = {_key(obj): obj for obj in found.items}
    for key in known.keys() - now.keys():
        del known[key]
        see(key, None)
    for key, obj in now.items():
        _tell(see, key, obj, known)
    return found.version


async def _watch(kube: Kube, kind: Kind, see: See, *, known: dict[Key, str], since: str) -> str:
    version = since
    async with contextlib.aclosing(kube.watch(kind, dict, since=since)) as changes:
        async for change in changes:
            version = change.version
            if change.object is None:
                continue
            key = _key(change.object)
            if change.type == "DELETED":
                known.pop(key, None)
                see(key, None)
            else:
                _tell(see, key, change.object, known)
    return version


def _tell(see: See, key: Key, obj: Obj, known: dict[Key, str]) -> None:
    uid = obj["metadata"]["uid"]
    if known.get(key, uid) != uid:
        see(key, None)  # deleted and made anew while we did not look
    known[key] = uid
    see(key, obj)


def _key(obj: Obj) -> Key:
    return Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
