"""The definitions of Kubernetes that our kinds embed, from the file beside this one (`make crds-kubernetes`)."""

from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import msgspec

from manta_common.api import raygroups, rayoptions
from manta_common.crd.openapi import definitions, inlined
from manta_common.crd.schema import Schema

FILE = "kubernetes.json"
ROOTS = (
    raygroups.POD_TEMPLATE,
    raygroups.SERVICE,
    raygroups.INGRESS_TLS,
    rayoptions.ENV_VAR,
    rayoptions.ENV_VAR_SOURCE,
    rayoptions.ENV_FROM_SOURCE,
    rayoptions.VOLUME_MOUNT,
    rayoptions.RESOURCES,
    rayoptions.SECURITY_CONTEXT,
    rayoptions.INGRESS_RULE,
    rayoptions.EGRESS_RULE,
)


class Definitions:
    """Kubernetes' definitions as structural schema, each made once."""

    def __init__(self, known: Mapping[str, Schema]) -> None:
        self._whole = {name: inlined(known[name], known) for name in ROOTS}

    def __call__(self, name: str) -> Schema:
        """The whole schema of a definition."""
        return self._whole[name]


def stored() -> bytes:
    """The file as it is."""
    return resources.files("manta_common.crd").joinpath(FILE).read_bytes()


def taken_from(documents: Iterable[Mapping[str, Any]]) -> bytes:
    """The file as it should be by these OpenAPI documents: one definition a line."""
    found = definitions(documents, ROOTS)
    lines = (b'"%s":%s' % (name.encode(), msgspec.json.encode(found[name], order="sorted")) for name in found)
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


def load() -> Definitions:
    """The definitions that the file holds."""
    return Definitions(msgspec.json.decode(stored(), type=dict[str, Schema]))
