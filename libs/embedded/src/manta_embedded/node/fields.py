"""The downward API: what a pod may know of itself. Pure."""

import re
from typing import Any

from manta_common.ray.quantities import Quantity, QuantityError
from manta_embedded.node.faults import config_error
from manta_embedded.store.objects import Obj, at_path

KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]$")
PLAIN = {
    "metadata.name": "metadata.name",
    "metadata.namespace": "metadata.namespace",
    "metadata.uid": "metadata.uid",
    "spec.nodeName": "spec.nodeName",
    "spec.serviceAccountName": "spec.serviceAccountName",
}
MIB = 1024 * 1024


def field(pod: Obj, path: str, addresses: tuple[str, str]) -> str:
    """The value of a field path; `addresses` are the host's and the pod's."""
    if match := KEYED.match(path):
        return str((at_path(pod, f"metadata.{match[1]}") or {}).get(match[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        entries: dict[str, str] = at_path(pod, path) or {}
        return "\n".join(f'{name}="{_escaped(value)}"' for name, value in sorted(entries.items()))
    if path in PLAIN:
        return str(at_path(pod, PLAIN[path]) or "")
    host, own = addresses
    known = {"status.hostIP": host, "status.hostIPs": host, "status.podIP": own, "status.podIPs": own}
    if path in known:
        return known[path]
    raise config_error(f'field label not supported: "{path}"')


def resource(container: Obj, reference: Obj, allocatable: dict[str, str]) -> str:
    """An amount of a container, counted in the divisor; a limit that is not set is all that the node has."""
    part, _, name = str(reference["resource"]).partition(".")
    if part not in ("limits", "requests"):
        raise config_error(f'unsupported container resource: "{reference["resource"]}"')
    given: dict[str, Any] = at_path(container, f"resources.{part}") or {}
    text = given.get(name, allocatable.get(name, "0") if part == "limits" else "0")
    divisor = reference.get("divisor") or "1"
    try:
        amount, unit = Quantity.parse(str(text)), Quantity.parse(str(divisor))
    except QuantityError as error:
        raise config_error(f"resourceFieldRef {reference['resource']}: {error}") from error
    return str(-(-amount.nanos // (unit.nanos or 10**9)))


def _escaped(value: str) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
