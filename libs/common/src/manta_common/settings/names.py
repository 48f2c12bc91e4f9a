"""How a setting is called: `MANTA_PARTITIONS` for every service, `MANTA_WATCHER_PARTITIONS` for one, and in a file."""

import difflib
import re
from collections.abc import Iterable

PREFIX = "MANTA_"
FILE_VARIABLE = "MANTA_CONFIG"
SERVICES = (
    "watcher",
    "cluster-reconciler",
    "job-reconciler",
    "serve-reconciler",
    "dashboard-gateway",
    "janitor",
)
_ELSEWHERE = re.compile(r"MANTA_(TEST_.*|PARITY_.*|CACHE|KEEP|PULL|DATA)")  # the tests' own, and the command line's
# Kubernetes tells each pod of every Service of its namespace: a Service `manta-nats` gives MANTA_NATS_SERVICE_HOST,
# MANTA_NATS_PORT=tcp://... and so on. https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
_SERVICE_LINK = re.compile(r"\w+_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)")
_SERVICE_URL = re.compile(r"(tcp|udp|sctp)://.*")


def variable(field: str, service: str = "") -> str:
    """The environment variable of a field, for every service or for one."""
    return PREFIX + "_".join(part for part in (_upper(service), field.upper()) if part)


def section(service: str) -> str:
    """The section of a file that concerns one service only."""
    first, *rest = service.split("-")
    return first + "".join(part.capitalize() for part in rest)


def is_foreign(name: str, value: str, service: str) -> bool:
    """Whether a variable that begins like ours is no setting of this service: another's, Kubernetes' or the tests'."""
    others = tuple(f"{PREFIX}{_upper(other)}_" for other in SERVICES if other != service)
    is_link = _SERVICE_LINK.fullmatch(name) or (name.endswith("_PORT") and _SERVICE_URL.fullmatch(value))
    return bool(name.startswith(others) or _ELSEWHERE.fullmatch(name) or is_link)


def nearest(name: str, known: Iterable[str]) -> str:
    """Half a sentence that names the known name most like this one."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else "see --help for those there are"


def _upper(service: str) -> str:
    return service.upper().replace("-", "_")
