"""Lists in pages, each of the same version as the first."""

from manta_embedded.store import errors, queries
from manta_embedded.store.buckets import Bucket, Lens
from manta_embedded.store.kinds import Served
from manta_embedded.store.objects import Obj
from manta_embedded.store.queries import Page, Position, Query

NEWEST = -1


def lens(served: Served, query: Query) -> Lens:
    """What a query lets be seen of stored objects."""
    shows = queries.tests(served, query)
    if served.conversions is None:
        return Lens(query.namespace, shows)
    form = served.conversions.from_stored
    return Lens(query.namespace, None if shows is None else lambda obj: shows(form(obj)), form)


def page(bucket: Bucket, served: Served, query: Query, newest: int) -> Page:
    """The objects of a query, as many as it wants at once."""
    seen = lens(served, query)
    version, after = _position(query, newest)
    places = _places(bucket, query, version, after)
    if seen.shows is not None:
        shows = seen.shows
        places = [(place, obj) for place, obj in places if shows(obj)]
    shown = places[: query.limit] if query.limit else places
    items = tuple(seen.form(obj) if seen.form else obj for _, obj in shown)
    if len(shown) == len(places):
        return Page(items, str(version))
    remaining = len(places) - len(shown) if seen.shows is None else None
    return Page(items, str(version), queries.encoded(Position(version, shown[-1][0])), remaining)


def document(served: Served, found: Page) -> Obj:
    """A page as the API answers it."""
    meta: Obj = {"resourceVersion": found.version}
    if found.next:
        meta["continue"] = found.next
    if found.remaining is not None:
        meta["remainingItemCount"] = found.remaining
    kind = served.kind
    return {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": meta, "items": list(found.items)}


def _position(query: Query, newest: int) -> tuple[int, str]:
    if query.next:
        position = queries.decoded(query.next)
        return (newest if position.rv == NEWEST else position.rv), position.start
    version = queries.parsed_version(query.version) if query.version else 0
    if version > newest:
        raise _too_large(version, newest)
    return (version if query.exact and version else newest), ""


def _places(bucket: Bucket, query: Query, version: int, after: str) -> list[tuple[str, Obj]]:
    try:
        return list(bucket.at(version, query.namespace, after))
    except errors.StatusError as error:
        if not query.next:
            raise errors.expired("The resourceVersion for the provided list is too old.") from error
        refusal = errors.expired(queries.TOO_OLD)
        refusal.metadata = {"continue": queries.encoded(Position(NEWEST, after))}
        raise refusal from error


def _too_large(version: int, newest: int) -> errors.StatusError:
    text = f"Timeout: Too large resource version: {version}, current: {newest}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return errors.StatusError(504, "Timeout", text, {"causes": [cause], "retryAfterSeconds": 1})
