"""Which events a phase makes: one for each reason, however many pods it is about. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from manta_cluster_reconciler.actions import Action, Halt, Tell, Told
from manta_common.kube.series import Notice

MOST_NAMES: Final = 10


class Result(msgspec.Struct, frozen=True):
    """How the action at a place of its phase went; without an error it was carried out."""

    place: int
    action: Action
    error: str | None = None


def notices(results: Sequence[Result]) -> list[Notice]:
    """The events of a phase, each reason once, in the order in which it was decided."""
    done: dict[tuple[str, str, str], list[tuple[Notice, str]]] = {}
    failed: dict[str, list[tuple[Notice, str]]] = {}
    for result in in_order(results):
        notice = _notice(result)
        if notice is None:
            continue
        if result.error is None or isinstance(result.action, Halt):
            done.setdefault((notice.type, notice.reason, notice.action), []).append((notice, name_of(result.action)))
        else:
            failed.setdefault(notice.reason, []).append((notice, result.error))
    return [*map(_merged, done.values()), *map(_failed, failed.values())]


def in_order(results: Sequence[Result]) -> list[Result]:
    """Results in the order of their phase, whichever came first."""
    return sorted(results, key=lambda result: result.place)


def name_of(action: Action) -> str:
    """The object that an action is about, as far as it has a name."""
    body = getattr(action, "body", None)
    if isinstance(body, dict) and "name" in body.get("metadata", {}):
        return str(body["metadata"]["name"])
    return str(getattr(action, "name", ""))


def shown(names: Iterable[str]) -> str:
    """Names for people, the first of them where there are many."""
    found = [name for name in names if name]
    return ", ".join(found[:MOST_NAMES]) + (", ..." if len(found) > MOST_NAMES else "")


def _notice(result: Result) -> Notice | None:
    if isinstance(result.action, Tell | Halt):
        return result.action.notice
    told = getattr(result.action, "told", None)
    if not isinstance(told, Told):
        return None
    return told.done if result.error is None else told.failed


def _merged(told: list[tuple[Notice, str]]) -> Notice:
    """One event for many: the first one's words and the names of the others, unless all say the same."""
    first = told[0][0]
    others = [name for notice, name in told[1:] if notice.note != first.note]
    if not others:
        return first
    return msgspec.structs.replace(first, note=f"{first.note} and {len(others)} more: {shown(others)}")


def _failed(told: list[tuple[Notice, str]]) -> Notice:
    """One event for all refusals of one kind: the first, which stays the same while it lasts."""
    notice, error = told[0]
    return msgspec.structs.replace(notice, note=f"{notice.note}, {error}")
