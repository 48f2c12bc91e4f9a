"""Whether services know what the API server lists, and nothing else; pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from manta_common.bus.channel import OF_JOBS, OF_SERVE

Known = Mapping[str, str]  # uid and version of objects, by key
Page = Mapping[str, Mapping[str, Known]]  # of one replica: by plane and kind; a `*` after the kind marks all partitions
REPORTS = {"jobinfo": "rayjob", "serveinfo": "raycluster"}  # what is known by way of the gateway, and of what
Followed = Mapping[str, Mapping[str, str]]  # the kinds of each plane, and what it keeps of them
Things = Mapping[str, Mapping[str, Any]]  # the metadata of what is listed, by kind and key
WIDE = "*"
ALL, SOME = "all", "some"  # of what a plane keeps of a kind; else it is a family
OWNERS: Final = {OF_JOBS: {"rayjob", "raycronjob"}, OF_SERVE: {"rayservice"}}


def feed_complaints(pages: Sequence[Page], followed: Followed, things: Things) -> list[str]:
    """What the replicas know too much, too little or wrongly of the kinds that each of their planes follows."""
    families = {ALL: things, SOME: things, **{family: of_family(things, family) for family in OWNERS}}
    listed = {family: versions(found) for family, found in families.items()}
    return [
        said
        for plane, words in followed.items()
        for word, kept in words.items()
        for said in _of_word(f"{plane}, {word}", _shown(pages, plane, word), listed[kept], whole=kept != SOME)
    ]


def versions(things: Things) -> dict[str, Known]:
    """Uid and version of what is listed."""
    return {
        word: {key: f"{about['uid']} {about['resourceVersion']}" for key, about in found.items()}
        for word, found in things.items()
    }


def of_family(things: Things, family: str) -> Things:
    """What belongs, in however many steps, to an owner of a family, or is one."""
    everything = {about["uid"]: (word, about) for word, found in things.items() for about in found.values()}

    def belongs(uid: str) -> bool:
        word, about = everything.get(uid, ("", {}))
        return word in OWNERS[family] or any(belongs(owner["uid"]) for owner in about.get("ownerReferences", ()))

    return {
        word: {key: about for key, about in found.items() if belongs(about["uid"])} for word, found in things.items()
    }


def _shown(pages: Sequence[Page], plane: str, word: str) -> list[Known]:
    """What each replica that has the plane knows of a kind."""
    return [page[plane].get(word, {}) for page in pages if plane in page]


def _of_word(where: str, parts: Sequence[Known], listed: Mapping[str, Known], *, whole: bool) -> Iterator[str]:
    word = where.rpartition(" ")[2]
    if not parts:
        yield f"{where}: nobody follows it"
    elif word.endswith(WIDE):
        for part in parts:
            yield from compared(where, part, word.removesuffix(WIDE), listed, whole=whole)
    else:
        yield from _shared(where, parts)
        known = {key: value for part in parts for key, value in part.items()}
        yield from compared(where, known, word, listed, whole=whole)


def _shared(where: str, parts: Sequence[Known]) -> Iterator[str]:
    """Every object has one owner."""
    seen: set[str] = set()
    for part in parts:
        for key in sorted(seen & part.keys()):
            yield f"{where}: two replicas own {key}"
        seen |= part.keys()


def compared(where: str, known: Known, word: str, listed: Mapping[str, Known], *, whole: bool = True) -> Iterator[str]:
    """How what is known of a kind differs from what is listed; unless it is whole, something may be left out."""
    if word in REPORTS:
        for key in sorted(known.keys() - listed.get(REPORTS[word], {}).keys()):
            yield f"{where}: a report of {key}, which is gone"
        return
    there = listed.get(word, {})
    for key in sorted(there.keys() - known.keys()) if whole else ():
        yield f"{where}: {key} is not known"
    for key in sorted(known.keys() - there.keys()):
        yield f"{where}: {key} is gone"
    for key in sorted(known.keys() & there.keys()):
        if known[key] != there[key]:
            yield f"{where}: {key} is {there[key]}, known as {known[key]}"
