"""The two faces of an event: that of events.k8s.io/v1, which is stored, and that of the core group."""

from manta_embedded.store.objects import Obj

CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
# Go writes these even when they are empty.
CORE_ALWAYS: Obj = {
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
OWN_ALWAYS: Obj = {
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
    "eventTime": None,
}
OWN_NAMES = {core: own for own, core in CORE_NAMES.items()}


def from_core(event: Obj) -> Obj:
    """An event of the core group as it is stored."""
    found = {OWN_NAMES.get(name, name): value for name, value in event.items()}
    return {**found, "apiVersion": "events.k8s.io/v1"}


def to_core(event: Obj) -> Obj:
    """A stored event as the core group shows it."""
    found = {CORE_NAMES.get(name, name): value for name, value in event.items()}
    return {**CORE_ALWAYS, **found, "apiVersion": "v1"}


def with_defaults(event: Obj) -> Obj:
    """An event with the fields that it has even when they are empty."""
    return {**OWN_ALWAYS, **event}
