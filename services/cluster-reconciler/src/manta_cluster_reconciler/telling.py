"""Which events a phase makes: one for each reason, however many pods it is about. Pure."""

from collections.abc import Sequence
from typing import Final

import msgspec

from manta_cluster_reconciler.actions import Action, Halt, Tell, Told
from manta_common.kube.series import Notice

MOST_NAMES: Final = 10


class Result(msgspec.Struct, frozen=True):
    """How an action went; without an error it was carried out."""

    action: Action
    error: str | None = None


def notices(results: Sequence[Result]) -> list[Notice]:
    """The events of a phase, each reason once, in the order in which things happened."""
    done: dict[tuple[str, str, str], list[tuple[Notice, str]]] = {}
    failed: dict[str, list[tuple[Notice, str]]] = {}
    for result in results:
        notice = _notice(result)
        if notice is None:
            continue
        if result.error is None or isinstance(result.action, Halt):
            done.setdefault((notice.type, notice.reason, notice.action), []).append((notice, name_of(result.action)))
        else:
            failed.setdefault(notice.reason, []).append((notice, result.error))
    return [*map(_merged, done.values()), *(_failed(told, results) for told in failed.values())]


def name_of(action: Action) -> str:
    """The object that an action is about, as far as it has a name."""
    body = getattr(action, "body", None)
    if isinstance(body, dict) and "name" in body.get("metadata", {}):
        return str(body["metadata"]["name"])
    return str(getattr(action, "name", ""))


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
    shown = ", ".join(others[:MOST_NAMES]) + (", ..." if len(others) > MOST_NAMES else "")
    return msgspec.structs.replace(first, note=f"{first.note} and {len(others)} more: {shown}")


def _failed(told: list[tuple[Notice, str]], results: Sequence[Result]) -> Notice:
    """One event for all refusals of one kind, with the first error and how far it went."""
    notice, error = told[0]
    same = [result for result in results if type(getattr(result.action, "told", None)) is Told]
    done = sum(result.error is None for result in same)
    tally = f" ({done} of {len(same)} tried went well)" if len(same) > 1 else ""
    return msgspec.structs.replace(notice, note=f"{notice.note}, {error}{tally}")
