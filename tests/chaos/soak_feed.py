"""Whether services know what the API server lists, and nothing else; pure."""

from collections.abc import Iterator, Mapping, Sequence

Known = Mapping[str, str]  # uid and version of objects, by key
Page = Mapping[str, Mapping[str, Known]]  # of one replica: by plane and kind; a `*` after the kind marks all partitions
REPORTS = {"jobinfo": "rayjob", "serveinfo": "raycluster"}  # what is known by way of the gateway, and of what
Followed = Mapping[str, Mapping[str, bool]]  # the kinds of each plane, and whether it keeps all objects of them
WIDE = "*"


def feed_complaints(pages: Sequence[Page], followed: Followed, listed: Mapping[str, Known]) -> list[str]:
    """What the replicas know too much, too little or wrongly of the kinds that each of their planes follows."""
    return [
        said
        for plane, words in followed.items()
        for word, whole in words.items()
        for said in _of_word(f"{plane}, {word}", _shown(pages, plane, word), listed, whole=whole)
    ]


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
